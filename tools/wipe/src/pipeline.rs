//! The loop of writing and of verifying, with several transfers in flight.
//!
//! While the drive is busy with some transfers, the next one is prepared or the last one compared.
//! At a checkpoint none is in flight, so everything before it is done.

use std::io;
use std::iter::Peekable;
use std::ops::Range;
use std::time::{Duration, Instant};

use squall_drives::Target;
use squall_drives::io::{Buffer, Device, Direction, Finished, Queue, Transfer};
use squall_tools::Interrupt;

use crate::event::EventSender;
use crate::pace::Pace;
use crate::progress::Progress;
use crate::record::{Extent, Outcome};
use crate::rescue;

/// Length of a transfer, in bytes: as much as most drives take at once.
pub const TRANSFER: usize = 1 << 20;

/// After this many refused bytes in a row, a drive is given up, because trying each sector of a dead
/// drive would take weeks.
const GIVE_UP_BYTES: u64 = 64 << 20;

/// How long a drive may refuse one sector after the other before it is given up.
const GIVE_UP_TIME: Duration = Duration::from_secs(1800);

/// What writing and verifying do with each transfer.
pub trait Task {
    /// Whether bytes go to the drive or come from it.
    const DIRECTION: Direction;

    /// Fills in the bytes that go to `offset`.
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

/// What a drive's thread works with.
pub struct Pipeline<'a> {
    /// The target that is transferred to or from.
    pub target: &'a Target,
    /// The target, open.
    pub device: &'a Device,
    /// The queue of transfers in flight.
    pub queue: Queue,
    /// Buffers that are not in flight.
    pub buffers: Vec<Buffer>,
    /// The limit on the rate.
    pub pace: Pace,
    /// Time between two checkpoints.
    pub interval: Duration,
    /// The progress that is shown.
    pub progress: &'a Progress,
    /// Where events are sent.
    pub events: &'a EventSender,
    /// Whether the user wants to stop.
    pub interrupt: &'a Interrupt,
    /// Bytes refused since the last success, and since when.
    pub refused_in_a_row: Option<(u64, Instant)>,
}

impl Pipeline<'_> {
    /// Transfers all of `regions`, in order, with checkpoints now and then and at the end. After a
    /// failure, or an interrupt during a rescue, only what the last checkpoint covers counts.
    pub fn run<T: Task>(&mut self, regions: &[Extent], task: &mut T) -> Result<(), Stop> {
        let end = self.device.end_of_units();
        let size = self.target.identity.size;
        let mut kept = regions.first().map_or(size, |region| region.offset);
        let in_units = regions.iter().flat_map(|region| cut(*region, 0..end));
        let whole = self.run_units(in_units, &mut kept, task);
        self.take_back()?;
        whole?;
        for tail in regions.iter().flat_map(|region| cut(*region, end..size)) {
            rescue::in_pieces(self, tail, task)?;
        }
        self.checkpoint(&mut kept, size, task)
    }

    fn run_units<T: Task>(
        &mut self,
        extents: impl Iterator<Item = Extent>,
        kept: &mut u64,
        task: &mut T,
    ) -> Result<(), Stop> {
        let mut extents = extents.peekable();
        let mut last_checkpoint = Instant::now();
        loop {
            let is_due = last_checkpoint.elapsed() >= self.interval;
            if !is_due && !self.interrupt.is_noted() {
                self.top_up(&mut extents, task)?;
            }
            if let Some(finished) = self.wait()? {
                self.settle(finished, task)?;
                continue;
            }
            let Some(next) = extents.peek().map(|extent| extent.offset) else {
                return Ok(());
            };
            let is_over = self.interrupt.is_noted();
            if is_due || is_over {
                self.checkpoint(kept, next, task)?;
                last_checkpoint = Instant::now();
            }
            if is_over {
                return Err(Stop::Interrupted);
            }
        }
    }

    /// Has `task` record that everything before `offset` is done; `kept` is the last recorded
    /// offset. If flushing fails, everything since then is transferred again, piece by piece, which
    /// shows where the fault is.
    fn checkpoint<T: Task>(
        &mut self,
        kept: &mut u64,
        offset: u64,
        task: &mut T,
    ) -> Result<(), Stop> {
        if let Err(stop) = task.checkpoint(offset) {
            if !matches!(stop, Stop::Unflushed(_)) {
                return Err(stop);
            }
            let since = Extent {
                offset: *kept,
                length: offset - *kept,
            };
            for extent in cut(since, 0..offset) {
                rescue::in_pieces(self, extent, task)?;
            }
            task.checkpoint(offset)?;
        }
        *kept = offset;
        Ok(())
    }

    /// Counts `bytes` that were transferred.
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
        if bytes >= GIVE_UP_BYTES || since.elapsed() >= GIVE_UP_TIME {
            Err(Stop::Dead(format!(
                "it refused {bytes} bytes in a row, for {} s",
                since.elapsed().as_secs()
            )))
        } else {
            Ok(())
        }
    }

    /// Starts transfers while there are free buffers.
    fn top_up<T: Task>(
        &mut self,
        extents: &mut Peekable<impl Iterator<Item = Extent>>,
        task: &mut T,
    ) -> Result<(), Stop> {
        while extents.peek().is_some() && !self.interrupt.is_noted() {
            let Some(mut buffer) = self.buffers.pop() else {
                break;
            };
            let Some(extent) = extents.next() else { break };
            let len = extent.length as usize;
            self.pace.wait(len, self.interrupt);
            task.prepare(extent.offset, &mut buffer[..len]);
            let transfer = Transfer {
                buffer,
                len,
                offset: extent.offset,
                direction: T::DIRECTION,
            };
            self.queue.submit(transfer).map_err(queue_failure)?;
        }
        Ok(())
    }

    /// Waits for the next transfer to finish; `None` if none is in flight.
    fn wait(&mut self) -> Result<Option<Finished>, Stop> {
        self.queue.wait().map_err(queue_failure)
    }

    /// Handles a finished transfer. One that was not completed is repeated in pieces.
    fn settle<T: Task>(&mut self, finished: Finished, task: &mut T) -> Result<(), Stop> {
        let Finished { transfer, result } = finished;
        let extent = Extent {
            offset: transfer.offset,
            length: transfer.len as u64,
        };
        let is_whole = matches!(&result, Ok(done) if *done == transfer.len);
        if is_whole {
            task.done(transfer.offset, &transfer.buffer[..transfer.len]);
            self.accepted(extent.length);
        }
        self.buffers.push(transfer.buffer);
        if is_whole {
            Ok(())
        } else {
            rescue::in_pieces(self, extent, task)
        }
    }

    /// Waits for all transfers in flight and takes their buffers back, whatever the results.
    fn take_back(&mut self) -> Result<(), Stop> {
        while let Some(finished) = self.wait()? {
            self.buffers.push(finished.transfer.buffer);
        }
        Ok(())
    }
}

/// The part of `region` that is `within`, as extents that fit into buffers.
fn cut(region: Extent, within: Range<u64>) -> impl Iterator<Item = Extent> {
    let length = TRANSFER as u64;
    let from = region.offset.max(within.start);
    let end = (region.offset + region.length).min(within.end);
    let next = move |at: &u64| Some((at / length + 1) * length);
    let offsets = std::iter::successors(Some(from), next).take_while(move |at| *at < end);
    offsets.map(move |offset| Extent {
        offset,
        length: ((offset / length + 1) * length).min(end) - offset,
    })
}

fn queue_failure(error: io::Error) -> Stop {
    Stop::Failed(format!(
        "transfers: {}",
        squall_tools::failure::cause(&error)
    ))
}
