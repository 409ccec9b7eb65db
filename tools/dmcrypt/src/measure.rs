//! Devices side by side: each workload on each, in turns, in rounds whose order follows no pattern.
//!
//! The clock of a sample runs from its first transfer until its last is over, past the page cache.
//! What a sample wrote is flushed behind the clock, so that nobody pays for what another left in a
//! drive's cache, and a figure does not depend on how long its sample was: it is the rate at which
//! the device takes writes. Sequences go on where the last one ended, whichever device that was on, so
//! that nobody reads what another has just left in a drive's cache. The first device is the one without encryption, with which the others
//! are compared; if it fails there is nothing to measure.

mod flight;
mod offsets;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::Advice;
use squall_drives::io::Buffer;
use squall_tools::Failure;
use squall_tools::failure::cause;
use squall_tools::measure::Orders;
use squall_tools::units;

use crate::model::{Direction, Workload};
use offsets::Offsets;

/// A device that is measured beside others.
#[derive(Clone, Debug)]
pub struct Subject {
    /// Its name.
    pub name: String,
    /// It, open for direct transfers both ways.
    pub file: Arc<File>,
    /// How many of its bytes are used, from the first on.
    pub bytes: u64,
}

/// How long devices are measured.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Rounds: in each, every device is measured with every workload once.
    pub rounds: usize,
    /// Time of a sample, which is at least one transfer.
    pub sample: Duration,
}

/// What was measured.
#[derive(Clone, Debug)]
pub struct Taken {
    /// Rounds that are whole.
    pub rounds: usize,
    /// For each device, in order: for each workload the bytes a second of every round, or why the
    /// device is out.
    pub subjects: Vec<Result<Vec<Vec<f64>>, String>>,
}

/// One way to read and write of all: large transfers in sequence and small ones at random, one at a
/// time and several.
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
    let verb = match direction {
        Direction::Read => "read",
        Direction::Write => "write",
    };
    let length = units::length(block as u64);
    let place = if is_random { " at random" } else { "" };
    let many = match depth {
        1 => String::new(),
        _ => format!(", {depth} at once"),
    };
    format!("{verb} {length}{place}{many}")
}

/// Fills all that is used of `subject` with keystream: a RAM disk has nothing to read where nothing
/// was written. `progress` is told of the bytes that are written. Ends early, without an error, when
/// it does not go on.
pub fn prepare(
    subject: &Subject,
    goes_on: &dyn Fn() -> bool,
    progress: &dyn Fn(u64),
) -> Result<(), Failure> {
    let fill = || flight::fill(subject, goes_on, progress).and_then(|()| flush(subject));
    fill().map_err(|error| Failure::Runtime(format!("{}: {}", subject.name, cause(&error))))
}

/// Measures `subjects` with `workloads`. `goes_on` is asked before every sample; a round that was
/// broken is not counted for anyone. `progress` is told how many turns of how many are over, of
/// which a round has one for each workload.
pub fn run(
    subjects: &[Subject],
    workloads: &[Workload],
    plan: Plan,
    goes_on: &dyn Fn() -> bool,
    progress: &dyn Fn(usize, usize),
) -> Taken {
    let mut runs: Vec<Run> = subjects
        .iter()
        .map(|subject| Run::new(subject, workloads.len()))
        .collect();
    let mut supplies: Vec<Vec<Buffer>> = workloads.iter().map(supply).collect();
    let mut orders = Orders::default();
    let offsets = Offsets::default();
    let mut turns = 0;
    let mut rounds = 0;
    'rounds: while rounds < plan.rounds {
        for (place, workload) in workloads.iter().enumerate() {
            renew(&mut supplies[place], workload);
            for turn in orders.next(runs.len()) {
                if !goes_on() || runs[0].samples.is_err() {
                    break 'rounds;
                }
                runs[turn].go(place, workload, |subject| {
                    sample(
                        subject,
                        &offsets,
                        workload,
                        plan.sample,
                        &mut supplies[place],
                    )
                });
            }
            turns += 1;
            progress(turns, plan.rounds * workloads.len());
        }
        rounds += 1;
    }
    Taken {
        rounds,
        subjects: runs.into_iter().map(|run| run.of_rounds(rounds)).collect(),
    }
}

/// A device, and what is known of it.
struct Run<'a> {
    subject: &'a Subject,
    samples: Result<Vec<Vec<f64>>, String>,
}

impl<'a> Run<'a> {
    fn new(subject: &'a Subject, workloads: usize) -> Run<'a> {
        Run {
            subject,
            samples: Ok(vec![Vec::new(); workloads]),
        }
    }

    fn go(
        &mut self,
        place: usize,
        workload: &Workload,
        sampled: impl FnOnce(&Subject) -> io::Result<f64>,
    ) {
        let Ok(samples) = &mut self.samples else {
            return;
        };
        match sampled(self.subject) {
            Ok(rate) => samples[place].push(rate),
            Err(error) => self.samples = Err(format!("{}: {}", workload.title, cause(&error))),
        }
    }

    fn of_rounds(self, rounds: usize) -> Result<Vec<Vec<f64>>, String> {
        let mut samples = self.samples?;
        samples.iter_mut().for_each(|list| list.truncate(rounds));
        Ok(samples)
    }
}

/// Bytes a second of one sample.
fn sample(
    subject: &Subject,
    offsets: &Offsets,
    workload: &Workload,
    time: Duration,
    buffers: &mut [Buffer],
) -> io::Result<f64> {
    rustix::fs::fadvise(&subject.file, 0, None, Advice::DontNeed)?;
    let rate = flight::fly(subject, offsets, workload, time, buffers)?;
    if workload.direction == Direction::Write {
        flush(subject)?;
    }
    Ok(rate)
}

fn flush(subject: &Subject) -> io::Result<()> {
    Ok(rustix::io::retry_on_intr(|| {
        rustix::fs::fdatasync(&subject.file)
    })?)
}

/// Memory for the transfers of `workload`, each page of which has been touched.
fn supply(workload: &Workload) -> Vec<Buffer> {
    let mut buffers: Vec<Buffer> = (0..workload.depth)
        .map(|_| Buffer::new(workload.block))
        .collect();
    buffers.iter_mut().for_each(|buffer| keystream(buffer));
    buffers
}

/// New bytes for what is to be written.
fn renew(supply: &mut [Buffer], workload: &Workload) {
    if workload.direction == Direction::Write {
        supply.iter_mut().for_each(|buffer| keystream(buffer));
    }
}

fn keystream(bytes: &mut [u8]) {
    let mut stream = squall::Stream::new(&squall::array());
    stream.fill(bytes).expect("a stream has 16 EiB");
}
