//! Devices of the kernel's device mapper that disappear when this process ends.

mod control;
mod device;
mod ioctl;
mod node;

pub use control::Control;
pub use device::{Mapped, PREFIX, Table};

use std::time::Duration;

/// How long to wait for programs such as udev, which open a new disk to examine it.
pub const SETTLING_TIME: Duration = Duration::from_secs(20);
