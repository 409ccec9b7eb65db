//! Transfers to and from a target: past the page cache where the target allows it, and several in
//! flight.

mod buffer;
mod claim;
mod device;
mod partitions;
mod queue;
mod ring;
mod threads;
mod transfer;

pub use buffer::Buffer;
pub use claim::hold;
pub(crate) use claim::timeout as claim_timeout;
pub use device::{Access, Device, Direct, claimed_by_others};
pub use partitions::forget as forget_partitions;
pub use queue::{Queue, QueueKind};
pub use transfer::{Direction, Finished, Transfer};
