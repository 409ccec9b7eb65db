//! Measures devices side by side: each workload on each device, in rounds whose order has no pattern.
//!
//! Transfers bypass the page cache. The clock of a sample runs from its first transfer to the end of
//! its last one. Written data is flushed after the clock has stopped, so no sample pays for what
//! another one left in a drive's cache, and a rate does not depend on the sample's length. Sequential
//! transfers continue where the last ones ended, on whichever device, so none reads what another has
//! just left in that cache. The first device is the one without encryption, with which the others are
//! compared; if it fails, the measurement ends.

mod flight;
mod samples;

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::Advice;
use squall_drives::io::Buffer;
use squall_tool_base::Failure;
use squall_tool_base::failure::cause;
use squall_tool_base::measure::Orders;
use squall_tool_base::units;

pub use crate::model::{Direction, Workload};
use flight::Offsets;
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
    let fill = || flight::fill(subject, should_continue, progress).and_then(|()| flush(subject));
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
    let done = flight::run_transfers(subject, offsets, workload, time, buffers)?;
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

fn keystream(bytes: &mut [u8]) {
    let mut stream = squall::Stream::new(&squall::array());
    stream.fill(bytes).expect("a stream has 16 EiB");
}
