//! Virtual machines under QEMU, with real kernels and the probe as their first program.
//!
//! A guest is booted from a kernel and an initramfs, or resumed from a snapshot, and shares memory with
//! the lab. It ends when its value is dropped, and with the lab, however the lab ends.

mod guest;
mod initramfs;
mod memory;
mod spec;

use std::path::PathBuf;
use std::time::Duration;

use squall_guests::debian::{Architecture, Cache, Qemu};
use squall_guests::emulator::{self, Artifact};
use squall_tools::{Failure, Interrupt};

pub use guest::{Guest, Snapshot};
pub use initramfs::{Contents, Programs, initramfs};
pub use memory::{Counts, Name, Resets, SharedMemory, Trace};
pub use spec::{Accelerator, Cpu, Page, Signals, Spec};
pub use squall_guests::emulator::Host;

/// Builds the probe for x86-64 if necessary, and returns its path.
pub fn probe() -> Result<PathBuf, Failure> {
    emulator::program("squall-probe", "squall-probe")
}

/// A QEMU with a directory for its machines' files, and the probe that runs in them.
#[derive(Debug)]
pub struct Platform {
    /// The CPUs of its machines.
    pub architecture: Architecture,
    pub host: Host,
    pub qemu: Qemu,
    pub probe: PathBuf,
}

impl Platform {
    /// Builds the probe. The host gives up on a guest that makes no progress within `timeout`.
    pub fn open(
        architecture: Architecture,
        cache: &Cache,
        interrupt: &Interrupt,
        timeout: Duration,
    ) -> Result<Platform, Failure> {
        let qemu = cache.qemu_of(architecture)?;
        let host = Host::new(interrupt.clone(), timeout)?;
        let probe = match architecture {
            Architecture::Amd64 => probe(),
            Architecture::Arm64 => Artifact::StaticProgram("squall-probe", "squall-probe").build(),
        };
        // Ctrl-C on the terminal also ends the compiler.
        interrupt.check()?;
        Ok(Platform {
            architecture,
            host,
            qemu,
            probe: probe?,
        })
    }
}
