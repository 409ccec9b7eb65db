//! The kernel's device mapper: devices of ours, that go when this process goes.

mod control;
mod device;
mod ioctl;
mod node;

pub use control::Control;
pub use device::{Mapped, PREFIX, Table};
