//! Transfers to and from a target: past the page cache where the target allows it, and several in
//! flight.

mod claim;
mod device;
mod other_paths;
mod queue;
mod ring;
mod transfer;

pub(crate) use claim::CLAIM_TIMEOUT;
pub use claim::{forget_partitions, hold};
pub(crate) use device::claim_on_target;
pub use device::{Access, Device, Direct};
pub use other_paths::OtherPaths;
pub(crate) use other_paths::{claim_on, claim_on_path};
pub use queue::{Queue, QueueKind};
pub use transfer::{Buffer, Direction, Finished, Transfer};
