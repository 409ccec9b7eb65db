//! What all machines with the same kind of CPU have in common.

use std::path::PathBuf;
use std::time::Duration;

use squall_tools::{Failure, Interrupt};

use super::{Host, probe, probe_for_arm64};
use squall_guests::debian::{Architecture, Cache};

/// A QEMU with a directory for its machines' files, and the probe that runs in them.
#[derive(Debug)]
pub struct Platform {
    /// The CPUs of its machines.
    pub architecture: Architecture,
    pub host: Host,
    /// QEMU's version.
    pub qemu: String,
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
        let version = qemu.version.clone();
        let host = Host::new(qemu, interrupt.clone(), timeout)?;
        let probe = match architecture {
            Architecture::Amd64 => probe(),
            Architecture::Arm64 => probe_for_arm64(),
        };
        // Ctrl-C on the terminal also ends the compiler.
        interrupt.check()?;
        Ok(Platform {
            architecture,
            host,
            qemu: version,
            probe: probe?,
        })
    }
}
