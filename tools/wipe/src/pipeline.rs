//! The loop of writing and of verifying, with several transfers in flight.
//!
//! While the drive is busy with some transfers, the next one is prepared or the last one compared.
//! At a checkpoint none is in flight, so everything before it is done.

use squall_tool_base::pace::Pace;
use std::io;
use std::iter::Peekable;
use std::ops::Range;
use std::time::{Duration, Instant};

use squall_drives::io::{Buffer, Finished, Queue, Transfer};
use squall_tool_base::failure::cause;

use crate::args::TransferArguments;
use crate::progress::EventSender;
use crate::record::Extent;
use crate::rescue;
use crate::task::{OpenTarget, Stop, Task};

/// Length of a transfer, in bytes: as much as most drives take at once.
pub const TRANSFER: usize = 1 << 20;

pub struct Pipeline<'a> {
    pub open: OpenTarget<'a>,
    pub queue: Queue,
    /// Buffers that are not in flight.
    pub buffers: Vec<Buffer>,
    pub pace: Pace,
    /// Time between two checkpoints.
    pub interval: Duration,
    pub events: &'a EventSender,
}

impl<'a> Pipeline<'a> {
    /// A pipeline for `open`, with as many transfers in flight and as fast as `options` say.
    pub fn new(
        open: OpenTarget<'a>,
        options: &TransferArguments,
        interval: Duration,
        events: &'a EventSender,
    ) -> Result<Pipeline<'a>, Stop> {
        let depth = options.depth as usize;
        let queue = open.device.queue(depth);
        let queue = queue.map_err(|error| Stop::Failed(format!("queue: {}", cause(&error))))?;
        Ok(Pipeline {
            open,
            queue,
            buffers: (0..depth).map(|_| buffer()).collect::<Result<_, _>>()?,
            pace: Pace::new(options.rate_limit),
            interval,
            events,
        })
    }

    /// Transfers all of `regions`, in order, with checkpoints now and then and at the end. After a
    /// failure, or an interrupt during a rescue, only what the last checkpoint covers counts.
    pub fn run<T: Task>(&mut self, regions: &[Extent], task: &mut T) -> Result<(), Stop> {
        let end = self.open.device.end_of_units();
        let size = self.open.device.target().identity.size;
        let mut kept = regions.first().map_or(size, |region| region.offset);
        let in_units = regions.iter().flat_map(|region| cut(*region, 0..end));
        let whole = self.run_units(in_units, &mut kept, task);
        self.take_back()?;
        whole?;
        for tail in regions.iter().flat_map(|region| cut(*region, end..size)) {
            rescue::in_pieces(&mut self.open, tail, task)?;
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
            if !is_due && !self.open.interrupt.is_noted() {
                self.top_up(&mut extents, task)?;
            }
            if let Some(finished) = self.wait()? {
                self.settle(finished, task)?;
                continue;
            }
            let Some(next) = extents.peek().map(|extent| extent.offset) else {
                return Ok(());
            };
            let is_over = self.open.interrupt.is_noted();
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
            let since = Extent::new(*kept, offset - *kept);
            for extent in cut(since, 0..offset) {
                rescue::in_pieces(&mut self.open, extent, task)?;
            }
            task.checkpoint(offset)?;
        }
        *kept = offset;
        Ok(())
    }

    /// Starts transfers while there are free buffers.
    fn top_up<T: Task>(
        &mut self,
        extents: &mut Peekable<impl Iterator<Item = Extent>>,
        task: &mut T,
    ) -> Result<(), Stop> {
        while extents.peek().is_some() && !self.open.interrupt.is_noted() {
            let Some(mut buffer) = self.buffers.pop() else {
                break;
            };
            let Some(extent) = extents.next() else { break };
            let len = extent.length as usize;
            let OpenTarget {
                progress,
                interrupt,
                ..
            } = &self.open;
            progress.our_turn(|| self.pace.wait(len, || interrupt.is_noted()));
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
        let extent = Extent::new(transfer.offset, transfer.len as u64);
        let is_whole = matches!(&result, Ok(done) if *done == transfer.len);
        if is_whole {
            task.done(transfer.offset, &transfer.buffer[..transfer.len]);
            self.open.accepted(extent.length);
        }
        self.buffers.push(transfer.buffer);
        match is_whole {
            true => Ok(()),
            false => rescue::in_pieces(&mut self.open, extent, task),
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

/// A buffer for a transfer.
pub fn buffer() -> Result<Buffer, Stop> {
    Buffer::try_new(TRANSFER).map_err(|error| Stop::Failed(format!("memory: {}", cause(&error))))
}

/// The part of `region` that is `within`, as extents that fit into buffers.
fn cut(region: Extent, within: Range<u64>) -> impl Iterator<Item = Extent> {
    let from = region.offset.max(within.start);
    let end = region.end().min(within.end);
    Extent::new(from, end.saturating_sub(from)).pieces(TRANSFER as u64)
}

fn queue_failure(error: io::Error) -> Stop {
    Stop::Failed(format!("transfers: {}", cause(&error)))
}
