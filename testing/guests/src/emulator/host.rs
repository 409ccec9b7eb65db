//! Where guests run: a QEMU, and a directory for their files.

use std::cell::Cell;
use std::path::PathBuf;
use std::time::Duration;

use squall_tools::failure::at;
use squall_tools::{Failure, Interrupt};
use tempfile::TempDir;

use crate::debian::Qemu;

/// Where guests run: a QEMU, and a directory for their files that is removed on drop.
#[derive(Debug)]
pub struct Host {
    pub qemu: Qemu,
    directory: TempDir,
    guests_started: Cell<usize>,
    pub interrupt: Interrupt,
    pub timeout: Duration,
}

impl Host {
    /// A host that gives up on a guest that makes no progress within `timeout`.
    pub fn new(qemu: Qemu, interrupt: Interrupt, timeout: Duration) -> Result<Host, Failure> {
        let directory = tempfile::Builder::new()
            .prefix("squall-lab-")
            .tempdir()
            .map_err(at(&std::env::temp_dir()))?;
        Ok(Host {
            qemu,
            directory,
            guests_started: Cell::new(0),
            interrupt,
            timeout,
        })
    }

    /// A path for a file that is removed with the host.
    pub fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The number of the next guest. Fails if the user has interrupted the lab.
    pub fn next_number(&self) -> Result<usize, Failure> {
        self.interrupt.check()?;
        Ok(self.guests_started.replace(self.guests_started.get() + 1))
    }
}
