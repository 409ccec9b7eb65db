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
pub use device::{Access, Device, Direct, claimed_by_others};
pub use other_paths::OtherPaths;
pub(crate) use other_paths::claimed;
pub use queue::{Queue, QueueKind};
pub use transfer::{Buffer, Direction, Finished, Transfer};
