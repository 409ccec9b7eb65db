//! What writing and verifying do with each transfer, and why they stop.

use squall_drives::io::Direction;

use crate::record::{Extent, Outcome};

/// What writing and verifying do with each transfer.
pub trait Task {
    /// Whether bytes go to the drive or come from it.
    const DIRECTION: Direction;

    /// Fills a new buffer with what is the same at every offset.
    fn begin(&mut self, _buffer: &mut [u8]) {}

    /// Fills in the bytes that go to `offset`, unless they are the same at every offset.
    fn prepare(&mut self, offset: u64, bytes: &mut [u8]);

    /// Handles `bytes` that went to `offset` or came from there.
    fn done(&mut self, offset: u64, bytes: &[u8]);

    /// Handles a sector that the drive has refused on every try.
    fn refused(&mut self, sector: Extent);

    /// Records that everything before `offset` is done.
    fn checkpoint(&mut self, offset: u64) -> Result<(), Stop>;
}

/// The reason why the work on a drive stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The user interrupted it.
    Interrupted,
    /// The drive disappeared.
    Vanished,
    /// The last writes may not be on the medium, for this reason.
    Unflushed(String),
    /// The work cannot go on, for this reason.
    Failed(String),
    /// The drive has died, as this text explains.
    Dead(String),
}

impl From<Stop> for Outcome {
    fn from(stop: Stop) -> Outcome {
        match stop {
            Stop::Interrupted => Outcome::Interrupted,
            Stop::Vanished => Outcome::Vanished,
            Stop::Unflushed(reason) | Stop::Failed(reason) => Outcome::Failed { reason },
            Stop::Dead(reason) => Outcome::Dead { reason },
        }
    }
}
