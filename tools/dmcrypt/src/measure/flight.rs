//! The transfers of one sample, made by one thread or by several with one transfer in flight each.
//!
//! io_uring would treat devices differently. It runs transfers that need not wait, as those of a RAM
//! disk, in the submitting thread, and others, as those of dm-crypt, in threads of the kernel. Threads
//! of this process treat every device the same.

use std::os::unix::fs::FileExt;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use std::{io, thread};

use squall_drives::io::Buffer;

use super::samples::Latencies;
use super::{Subject, keystream};
use crate::model::{Direction, Workload};

/// The transfers of a sample.
#[derive(Default)]
pub struct Transfers {
    pub bytes: u64,
    pub seconds: f64,
    pub latencies: Latencies,
}

/// Runs `workload` with a thread for each of `buffers`. No transfer begins after `time`; those in
/// flight by then are waited for and counted.
pub fn run_transfers(
    subject: &Subject,
    offsets: &Offsets,
    workload: &Workload,
    time: Duration,
    buffers: &mut [Buffer],
) -> io::Result<Transfers> {
    let flight = SharedState {
        subject,
        offsets,
        workload,
        time,
        has_failed: AtomicBool::new(false),
    };
    if let [buffer] = buffers {
        let (mut done, start, end) = flight.transfers(buffer)?;
        done.seconds = (end - start).as_secs_f64();
        return Ok(done);
    }
    let start = Barrier::new(buffers.len());
    let parts: Vec<(Transfers, Instant, Instant)> = thread::scope(|scope| {
        let begin = |buffer| {
            let (flight, start) = (&flight, &start);
            scope.spawn(move || {
                start.wait();
                flight.transfers(buffer)
            })
        };
        let threads: Vec<_> = buffers.iter_mut().map(begin).collect();
        let join = |thread: thread::ScopedJoinHandle<'_, io::Result<_>>| {
            thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        threads.into_iter().map(join).collect::<io::Result<_>>()
    })?;
    let first = parts.iter().map(|(_, start, _)| *start).min();
    let last = parts.iter().map(|(.., end)| *end).max();
    let took = first.zip(last).map(|(first, last)| last - first);
    let mut all = Transfers {
        seconds: took.unwrap_or(time).as_secs_f64(),
        ..Transfers::default()
    };
    for (part, ..) in parts {
        all.bytes += part.bytes;
        all.latencies.extend(&part.latencies);
    }
    Ok(all)
}

/// The state that a sample's threads share.
struct SharedState<'a> {
    subject: &'a Subject,
    offsets: &'a Offsets,
    workload: &'a Workload,
    time: Duration,
    /// Set when a transfer fails, so that the other threads stop.
    has_failed: AtomicBool,
}

impl SharedState<'_> {
    /// Transfers through `buffer` until `time` has passed since the start. Returns the transfers, and when the first
    /// began and the last ended.
    fn transfers(&self, buffer: &mut Buffer) -> io::Result<(Transfers, Instant, Instant)> {
        let mut all = Transfers::default();
        let start = Instant::now();
        let mut begin = start;
        loop {
            let done = self.transfer(buffer);
            let end = Instant::now();
            self.has_failed.fetch_or(done.is_err(), Ordering::Relaxed);
            all.bytes += done?;
            all.latencies.add(end - begin);
            if end - start >= self.time || self.has_failed.load(Ordering::Relaxed) {
                return Ok((all, start, end));
            }
            begin = end;
        }
    }

    fn transfer(&self, buffer: &mut Buffer) -> io::Result<u64> {
        let offset = self.offsets.next(self.workload, self.subject.bytes);
        let offset = offset.ok_or_else(|| io::Error::other("it is smaller than a transfer"))?;
        let bytes = &mut buffer[..self.workload.block];
        let done = match self.workload.direction {
            Direction::Read => self.subject.file.read_at(bytes, offset)?,
            Direction::Write => self.subject.file.write_at(bytes, offset)?,
        };
        check_complete(done, bytes.len(), offset)
    }
}

/// Writes keystream to the used part of `subject`; `progress` gets the number of written bytes.
pub fn fill(
    subject: &Subject,
    should_continue: &dyn Fn() -> bool,
    progress: &dyn Fn(u64),
) -> io::Result<()> {
    const STEP: usize = 4 << 20;
    let mut buffer = Buffer::new(STEP);
    let mut offset = 0;
    while offset < subject.bytes && should_continue() {
        let bytes = &mut buffer[..(subject.bytes - offset).min(STEP as u64) as usize];
        keystream(bytes);
        offset += check_complete(subject.file.write_at(bytes, offset)?, bytes.len(), offset)?;
        progress(offset);
    }
    Ok(())
}

/// The bytes of a transfer; fails if it was cut short.
fn check_complete(done: usize, len: usize, offset: u64) -> io::Result<u64> {
    if done == len {
        Ok(len as u64)
    } else {
        Err(io::Error::other(format!(
            "only {done} of {len} bytes at {offset} were transferred"
        )))
    }
}

/// The position of sequential transfers.
#[derive(Debug, Default)]
pub struct Offsets {
    /// The next sequential offset in bytes.
    next: AtomicU64,
}

impl Offsets {
    /// The offset of the next transfer of `workload` in the first `bytes` of the device: a multiple
    /// of the transfer's size. `None` if `bytes` is less than one transfer.
    pub fn next(&self, workload: &Workload, bytes: u64) -> Option<u64> {
        let block = workload.block as u64;
        let blocks = bytes / block;
        if blocks == 0 {
            return None;
        }
        let number = if workload.is_random {
            below(blocks)
        } else {
            (self.next.fetch_add(block, Ordering::Relaxed) / block) % blocks
        };
        Some(number * block)
    }
}

/// A random number below `bound`; its bias is less than `bound` / 2^64.
fn below(bound: u64) -> u64 {
    ((u128::from(squall::u64()) * u128::from(bound)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::measure::workloads;

    fn workload(is_random: bool) -> Workload {
        let is_wanted = |workload: &Workload| workload.is_random == is_random;
        workloads().into_iter().find(is_wanted).unwrap()
    }

    #[test]
    fn sequential_offsets_wrap_at_the_end() {
        let large = workload(false);
        let offsets = Offsets::default();
        let mebibytes = [(); 5].map(|()| offsets.next(&large, (3 << 20) + 4096).unwrap() >> 20);
        assert_eq!(mebibytes, [0, 1, 2, 0, 1]);
        assert_eq!(offsets.next(&large, (1 << 20) - 1), None);
    }

    #[test]
    fn random_offsets_are_spread_and_in_range() {
        let small = workload(true);
        let offsets = Offsets::default();
        let bytes = 64 * 4096 + 512;
        let offsets: Vec<u64> = (0..4096)
            .map(|_| offsets.next(&small, bytes).unwrap())
            .collect();
        assert!(offsets.iter().all(|offset| offset % 4096 == 0));
        let found: BTreeSet<u64> = offsets.iter().map(|offset| offset / 4096).collect();
        assert_eq!(found, (0..64).collect());
        let is_next = |pair: &[u64]| pair[1] == pair[0] + 4096;
        let runs = offsets.windows(2).filter(|pair| is_next(pair)).count();
        assert!(runs < 200, "{runs} of 4095 follow the one before, not 64");
    }
}
