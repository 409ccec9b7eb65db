//! The kernel's device mapper: devices of ours, that go when this process goes.

mod control;
mod device;
mod ioctl;
mod node;

pub use control::Control;
pub use device::{Mapped, PREFIX, Table};

use std::time::Duration;

/// How long others, as udev, may have a new disk open to look at it.
pub const SETTLING_TIME: Duration = Duration::from_secs(20);
