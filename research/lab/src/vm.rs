//! Virtual machines: real kernels under QEMU, with the probe as their first program.
//!
//! A guest is booted from a kernel and an initramfs, or resumed from a snapshot, and shares memory
//! with the lab. It ends with the value that stands for it, and with the lab, however that ends.

mod boot;
mod doors;
mod guest;
mod initramfs;
mod memory;
mod spec;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use squall_tools::Failure;

pub use crate::emulator::Host;
pub use doors::Doors;
pub use guest::{Guest, Snapshot};
pub use initramfs::{Contents, initramfs};
pub use memory::SharedMemory;
pub use spec::{Accelerator, Signals, Spec};

/// Builds the probe, or finds it built, and gives its path.
pub fn probe() -> Result<PathBuf, Failure> {
    crate::emulator::program("squall-probe", "squall-probe")
}

/// Builds the libraries that programs load, the preload library and OpenSSL's provider, or finds
/// them built, and gives their paths.
pub fn libraries() -> Result<[PathBuf; 2], Failure> {
    let library = crate::emulator::library;
    Ok([library("squall-preload")?, library("squall-openssl")?])
}

/// Builds the program in Go that the probe starts, at `path`.
pub fn go_probe(path: &Path) -> Result<(), Failure> {
    crate::emulator::go_program("labprobe", path)
}
