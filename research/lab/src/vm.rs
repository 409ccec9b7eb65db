//! Virtual machines under QEMU, with real kernels and the probe as their first program.
//!
//! A guest is booted from a kernel and an initramfs, or resumed from a snapshot, and shares memory with
//! the lab. It ends when its value is dropped, and with the lab, however the lab ends.

mod boot;
mod doors;
mod guest;
mod initramfs;
mod memory;
mod platform;
mod spec;

use std::path::{Path, PathBuf};

use squall_tools::Failure;

pub use doors::Doors;
pub use guest::{Guest, Snapshot};
pub use initramfs::{Contents, initramfs};
pub use memory::SharedMemory;
pub use platform::Platform;
pub use spec::{Accelerator, Cpu, Page, Signals, Spec};
use squall_guests::emulator::Artifact;
pub use squall_guests::emulator::Host;

/// Builds the probe for x86-64 if necessary, and returns its path.
pub fn probe() -> Result<PathBuf, Failure> {
    squall_guests::emulator::program("squall-probe", "squall-probe")
}

/// Builds the probe for arm64 if necessary, and returns its path.
pub fn probe_for_arm64() -> Result<PathBuf, Failure> {
    Artifact::StaticProgram("squall-probe", "squall-probe").build()
}

/// Builds the preload library and OpenSSL's provider if necessary, and returns their paths.
pub fn libraries() -> Result<[PathBuf; 2], Failure> {
    let library = squall_guests::emulator::library;
    Ok([library("squall-preload")?, library("squall-openssl")?])
}

/// Builds the Go program that the probe starts, at `path`.
pub fn go_probe(path: &Path) -> Result<(), Failure> {
    squall_guests::emulator::go_program("labprobe", path)
}
