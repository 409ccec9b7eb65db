//! Measures devices side by side: each workload on each device, in rounds whose order has no pattern.
//!
//! Transfers bypass the page cache. The clock of a sample runs from its first transfer to the end of
//! its last one. Written data is flushed after the clock has stopped, so no sample pays for what
//! another one left in a drive's cache, and a rate does not depend on the sample's length. Sequential
//! transfers continue where the last ones ended, on whichever device, so none reads what another has
//! just left in that cache. The first device is the one without encryption, with which the others are
//! compared; if it fails, the measurement ends.
//!
//! The transfers of a sample are made by one thread or by several with one transfer in flight each.
//! io_uring would treat devices differently. It runs transfers that need not wait, as those of a RAM
//! disk, in the submitting thread, and others, as those of dm-crypt, in threads of the kernel. Threads
//! of this process treat every device the same.

mod samples;

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};
use std::{io, thread};

use rustix::fs::Advice;
use squall_drives::io::Buffer;
use squall_tool_base::failure::cause;
use squall_tool_base::measure::Orders;
use squall_tool_base::{Failure, units};

pub use crate::model::{Direction, Workload};
use samples::Count;
pub use samples::{Latencies, Sample, WorkloadSamples};

/// A device to measure.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The name for messages.
    pub name: String,
    /// The device, open for direct reads and writes.
    pub file: Arc<File>,
    /// How many bytes are used, from the beginning of the device.
    pub bytes: u64,
}

/// The length of a measurement.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The number of rounds; each measures every workload on every device once.
    pub rounds: usize,
    /// The length of a sample, which has at least one transfer.
    pub sample: Duration,
}

/// The samples of a measurement.
#[derive(Clone, Debug)]
pub struct Samples {
    /// The number of complete rounds.
    pub rounds: usize,
    /// For each device, in order, what it did in each workload, in every round; or why the device
    /// failed. Latencies have the transfers of an interrupted round too.
    pub subjects: Vec<Result<Vec<WorkloadSamples>, String>>,
}

/// All workloads: large sequential and small random reads and writes, one at a time and several at
/// once.
pub fn workloads() -> Vec<Workload> {
    const LARGE: usize = 1 << 20;
    const SMALL: usize = 4 << 10;
    use Direction::{Read, Write};
    [
        ("read-sequential", Read, LARGE, 1),
        ("write-sequential", Write, LARGE, 1),
        ("read-sequential-deep", Read, LARGE, 8),
        ("write-sequential-deep", Write, LARGE, 8),
        ("read-random", Read, SMALL, 1),
        ("write-random", Write, SMALL, 1),
        ("read-random-deep", Read, SMALL, 32),
        ("write-random-deep", Write, SMALL, 32),
    ]
    .map(|(name, direction, block, depth)| {
        let is_random = block == SMALL;
        Workload {
            name,
            title: title(direction, block, depth, is_random),
            direction,
            block,
            depth,
            is_random,
        }
    })
    .into()
}

fn title(direction: Direction, block: usize, depth: usize, is_random: bool) -> String {
    let verb = direction.verb();
    let length = units::length(block as u64);
    let place = if is_random { " at random" } else { "" };
    let many = match depth {
        1 => String::new(),
        _ => format!(", {depth} at once"),
    };
    format!("{verb} {length}{place}{many}")
}

/// Fills the used part of `subject` with keystream, because reading unwritten parts of a RAM disk
/// costs nothing. `progress` gets the number of written bytes. Ends early, without an error, once
/// `should_continue` is false.
pub fn prepare(
    subject: &Subject,
    should_continue: &dyn Fn() -> bool,
    progress: &dyn Fn(u64),
) -> Result<(), Failure> {
    let fill = || fill(subject, should_continue, progress).and_then(|()| flush(subject));
    fill().map_err(|error| Failure::Runtime(format!("{}: {}", subject.name, cause(&error))))
}

/// Measures `subjects` with `workloads`. It asks `should_continue` before every sample, and drops an
/// interrupted round for all devices. `progress` gets the number of finished turns; a round has one turn
/// for each workload.
pub fn run(
    subjects: &[Subject],
    workloads: &[Workload],
    plan: Plan,
    should_continue: &dyn Fn() -> bool,
    progress: &dyn Fn(usize),
) -> Samples {
    let nothing = vec![WorkloadSamples::default(); workloads.len()];
    let mut results: Vec<Result<_, String>> = vec![Ok(nothing); subjects.len()];
    let mut buffers_by_workload: Vec<Vec<Buffer>> = workloads.iter().map(buffers_for).collect();
    let mut orders = Orders::default();
    let offsets = Offsets::default();
    let mut turns = 0;
    let mut rounds = 0;
    'rounds: while rounds < plan.rounds {
        for (place, workload) in workloads.iter().enumerate() {
            let buffers = &mut buffers_by_workload[place];
            if workload.direction == Direction::Write {
                buffers.iter_mut().for_each(|buffer| keystream(buffer));
            }
            for turn in orders.next(subjects.len()) {
                if !should_continue() || results[0].is_err() {
                    break 'rounds;
                }
                let Ok(samples) = &mut results[turn] else {
                    continue;
                };
                match sample(&subjects[turn], &offsets, workload, plan.sample, buffers) {
                    Ok((sample, latencies)) => samples[place].add(sample, &latencies),
                    Err(error) => {
                        results[turn] = Err(format!("{}: {}", workload.title, cause(&error)));
                    }
                }
            }
            turns += 1;
            progress(turns);
        }
        rounds += 1;
    }
    for workload in results.iter_mut().flatten().flatten() {
        workload.samples.truncate(rounds);
    }
    Samples {
        rounds,
        subjects: results,
    }
}

/// Takes one sample.
fn sample(
    subject: &Subject,
    offsets: &Offsets,
    workload: &Workload,
    time: Duration,
    buffers: &mut [Buffer],
) -> io::Result<(Sample, Latencies)> {
    rustix::fs::fadvise(&subject.file, 0, None, Advice::DontNeed)?;
    let before = Count::now();
    let done = run_transfers(subject, offsets, workload, time, buffers)?;
    if workload.direction == Direction::Write {
        flush(subject)?;
    }
    let after = Count::now();
    let counts = before.zip(after);
    let sample = Sample {
        rate: done.bytes as f64 / done.seconds,
        bytes: done.bytes,
        cpu: counts.map(|(before, after)| before.used_until(&after)),
    };
    Ok((sample, done.latencies))
}

fn flush(subject: &Subject) -> io::Result<()> {
    Ok(rustix::io::retry_on_intr(|| {
        rustix::fs::fdatasync(&subject.file)
    })?)
}

/// The buffers for `workload`, with every page touched.
fn buffers_for(workload: &Workload) -> Vec<Buffer> {
    let mut buffers: Vec<Buffer> = (0..workload.depth)
        .map(|_| Buffer::new(workload.block))
        .collect();
    buffers.iter_mut().for_each(|buffer| keystream(buffer));
    buffers
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

fn keystream(bytes: &mut [u8]) {
    let mut stream = squall::Stream::new(&squall::array());
    stream.fill(bytes).expect("a stream has 16 EiB");
}

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
