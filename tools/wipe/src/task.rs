//! What writing and reading do with each transfer, what they work on, and why they stop.

use std::time::{Duration, Instant};

use squall_drives::io::{Device, Direction};
use squall_tool_base::failure::cause;

use crate::progress::Progress;
use crate::record::{Extent, Outcome};
use crate::threads::Control;

/// What writing and verifying do with each transfer.
pub trait Task {
    /// Whether bytes go to the drive or come from it.
    const DIRECTION: Direction;

    /// Fills a new buffer with what is the same at every offset.
    fn begin(&mut self, _buffer: &mut [u8]) {}

    /// Fills in the bytes that go to `offset`, unless they are the same at every offset.
    fn prepare(&mut self, _offset: u64, _bytes: &mut [u8]) {}

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

/// After this many refused bytes in a row, a drive is given up, because trying each sector of a dead
/// drive would take weeks.
const GIVE_UP_BYTES: u64 = 64 << 20;

/// How long a drive may refuse one sector after the other before it is given up.
const GIVE_UP_TIME: Duration = Duration::from_secs(1800);

pub struct OpenTarget<'a> {
    pub device: &'a Device,
    pub progress: &'a Progress,
    pub interrupt: &'a Control,
    /// Bytes refused since the last success, and since when.
    pub refused_in_a_row: Option<(u64, Instant)>,
}

impl OpenTarget<'_> {
    pub fn accepted(&mut self, bytes: u64) {
        self.refused_in_a_row = None;
        self.progress.moved(bytes);
    }

    /// Counts `bytes` that were given up. Fails when it is time to give up the drive.
    pub fn refused(&mut self, bytes: u64) -> Result<(), Stop> {
        self.progress.refused(bytes);
        let (before, since) = self.refused_in_a_row.unwrap_or((0, Instant::now()));
        let bytes = before + bytes;
        self.refused_in_a_row = Some((bytes, since));
        if bytes < GIVE_UP_BYTES && since.elapsed() < GIVE_UP_TIME {
            return Ok(());
        }
        let seconds = since.elapsed().as_secs();
        let why = format!("it refused {bytes} bytes in a row, for {seconds} s");
        Err(Stop::Dead(why))
    }
}

/// The length of `device`, if it has changed. Fails if it is gone.
pub fn changed_size(device: &Device) -> Result<Option<u64>, Stop> {
    let target = device.target();
    let now = device.length();
    let now = now.map_err(|error| Stop::Failed(format!("size: {}", cause(&error))))?;
    match now == target.identity.size {
        true => Ok(None),
        false if !target.is_attached() => Err(Stop::Vanished),
        false => Ok(Some(now)),
    }
}
