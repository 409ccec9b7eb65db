//! Transfers in flight: as many as a workload has, for as long as a sample takes.

use std::io;
use std::time::{Duration, Instant};

use squall_drives::io::{Buffer, Direction, Finished, Queue, Transfer};

use super::course::Course;
use super::{Lane, keystream};
use crate::report::model::{self, Workload};

/// Bytes a second of `workload`, whose transfers use `supply`, which is made up to what it takes.
/// No transfer begins after `time`; those in flight then are waited for, and count.
pub fn fly(
    lane: &Lane,
    course: &mut Course,
    workload: &Workload,
    time: Duration,
    supply: &mut Vec<Buffer>,
) -> io::Result<f64> {
    make_up(supply, workload);
    let mut queue = Queue::open(lane.file.clone(), workload.depth, false)?;
    let mut next = |buffer| -> io::Result<Transfer> {
        let offset = course.next(workload, lane.bytes);
        Ok(Transfer {
            buffer,
            len: workload.block,
            offset: offset.ok_or_else(|| io::Error::other("it is smaller than a transfer"))?,
            direction: direction(workload),
        })
    };
    let mut bytes = 0;
    let clock = Instant::now();
    for buffer in supply.drain(..) {
        queue.submit(next(buffer)?)?;
    }
    while let Some(finished) = queue.wait()? {
        let transfer = whole(finished)?;
        bytes += transfer.len;
        match clock.elapsed() < time {
            true => queue.submit(next(transfer.buffer)?)?,
            false => supply.push(transfer.buffer),
        }
    }
    Ok(bytes as f64 / clock.elapsed().as_secs_f64())
}

/// Writes keystream to all that is used of `lane`.
pub fn fill(lane: &Lane, goes_on: &dyn Fn() -> bool, progress: &dyn Fn(u64)) -> io::Result<()> {
    const DEPTH: usize = 4;
    const STEP: usize = 1 << 20;
    let mut queue = Queue::open(lane.file.clone(), DEPTH, false)?;
    let mut free: Vec<Buffer> = (0..DEPTH).map(|_| Buffer::new(STEP)).collect();
    let mut offset = 0;
    let mut written = 0;
    loop {
        while offset < lane.bytes && goes_on() {
            let Some(mut buffer) = free.pop() else { break };
            keystream(std::slice::from_mut(&mut buffer));
            let len = (lane.bytes - offset).min(STEP as u64) as usize;
            queue.submit(Transfer {
                buffer,
                len,
                offset,
                direction: Direction::Write,
            })?;
            offset += len as u64;
        }
        let Some(finished) = queue.wait()? else {
            return Ok(());
        };
        let transfer = whole(finished)?;
        written += transfer.len as u64;
        progress(written);
        free.push(transfer.buffer);
    }
}

/// Buffers in place of those that were lost when a device failed.
fn make_up(supply: &mut Vec<Buffer>, workload: &Workload) {
    while supply.len() < workload.depth {
        let mut buffer = Buffer::new(workload.block);
        keystream(std::slice::from_mut(&mut buffer));
        supply.push(buffer);
    }
}

fn direction(workload: &Workload) -> Direction {
    match workload.direction {
        model::Direction::Read => Direction::Read,
        model::Direction::Write => Direction::Write,
    }
}

/// The transfer, if all of it was done.
fn whole(finished: Finished) -> io::Result<Transfer> {
    let transfer = finished.transfer;
    match finished.result? {
        done if done == transfer.len => Ok(transfer),
        done => Err(io::Error::other(format!(
            "only {done} of {} bytes at {} were transferred",
            transfer.len, transfer.offset
        ))),
    }
}
