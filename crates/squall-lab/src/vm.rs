//! Virtual machines: real kernels under QEMU, with the probe as their first program.
//!
//! A guest is booted from a kernel and an initramfs, or resumed from a snapshot, and shares memory
//! with the lab. It ends with the value that stands for it, and with the lab, however that ends.

mod build;
mod guest;
mod initramfs;
mod memory;
mod parent;
mod qemu;
mod qmp;
mod spec;
#[cfg(test)]
mod tests;

pub use build::probe;
pub use guest::{Guest, Snapshot};
pub use initramfs::initramfs;
pub use memory::SharedMemory;
pub use qemu::Host;
pub use spec::{Accelerator, Signals, Spec};
