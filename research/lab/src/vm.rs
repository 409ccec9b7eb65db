//! Virtual machines under QEMU, with real kernels and the probe as their first program.
//!
//! A guest is booted from a kernel and an initramfs, or resumed from a snapshot, and shares memory with
//! the lab. It ends when its value is dropped, and with the lab, however the lab ends. For guests that run unmodified
//! programs the initramfs has a [`Userland`].

mod guest;
mod memory;
mod spec;
mod userland;

use std::path::{Path, PathBuf};
use std::time::Duration;

use squall_guests::debian::{Architecture, Cache, Qemu};
use squall_guests::emulator::{self, Artifact, Initramfs};
use squall_tool_base::{Failure, Interrupt};

pub use guest::{Guest, Snapshot};
pub use memory::{Counts, Name, Resets, SharedMemory, Trace};
pub use spec::{Accelerator, Cpu, KvmClock, Page, Signals, Spec};
pub use squall_guests::emulator::Host;
pub use userland::Userland;
pub(crate) use userland::openssl_configuration;

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

/// The files in a guest's initramfs.
#[derive(Debug)]
pub struct Contents<'a> {
    /// The probe, which becomes /init.
    pub probe: &'a Path,
    /// The Go program that the probe starts, if any.
    pub go: Option<&'a Path>,
    /// The unmodified programs that the probe asks, if any.
    pub userland: Option<&'a Userland>,
    /// Kernel modules, in the order in which they are loaded.
    pub modules: &'a [PathBuf],
}

/// Writes an initramfs to `path`.
pub fn initramfs(path: &Path, contents: &Contents) -> Result<(), Failure> {
    let mut initramfs = Initramfs::new();
    initramfs.program("init", contents.probe)?;
    if let Some(go) = contents.go {
        initramfs.program("go-probe", go)?;
    }
    if let Some(userland) = contents.userland {
        userland.add(&mut initramfs)?;
    }
    initramfs.directory("modules");
    for (number, module) in contents.modules.iter().enumerate() {
        let name = module.file_name().unwrap_or_default().to_string_lossy();
        initramfs.program(&format!("modules/{number:02}-{name}"), module)?;
    }
    initramfs.write(path)
}
