//! What a process that has drawn pays at each fork, as lmbench's lat_proc measures it ("fork +
//! exit"): a process forks, the child exits at once, the parent waits for it.
//!
//! What is looked for is below 1 %, and two runs of the same program differ by more: in where
//! their memory lies, and in what else the machine does. So each round makes a new process of
//! each kind, one after the other, in an order that changes; each forks some tens of times and
//! tells its median. A round gives a ratio, and the result is the median of hundreds of ratios,
//! with the interval that it is known to be in.

mod process;

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use serde::Serialize;
use squall_command::Failure;
use squall_command::output;
use squall_measure::{Effort, Spread, interval_of_median};

use super::figures::Figure;
use super::paper::{self, Published};

/// Tells a process that it is to fork and what kind it is. No argument, as it is no part of the
/// command's interface.
const VARIABLE: &str = "SQUALL_LAB_FORKING_PROCESS";

/// Forks of a process that are not counted, and that are.
const WARM_UP: usize = 5;
const FORKS: usize = 50;

/// A process that forks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It never drew.
    Without,
    /// It drew before it forked, and so has squall's memory.
    With,
    /// It drew, and each child draws 32 bytes before it exits.
    ChildDraws,
}

impl Kind {
    const ALL: [Kind; 3] = [Kind::Without, Kind::With, Kind::ChildDraws];

    fn name(self) -> &'static str {
        match self {
            Kind::Without => "without",
            Kind::With => "with",
            Kind::ChildDraws => "child-draws",
        }
    }
}

/// What forks cost.
#[derive(Debug, Serialize)]
pub struct Forks {
    pub unit: &'static str,
    pub rounds: usize,
    pub forks_of_a_process: usize,
    pub without_squall: Figure,
    pub with_squall: Figure,
    pub with_squall_child_draws: Figure,
    pub overhead_percent: Overhead,
    /// The paper's kernel with Whirlwind, and the old one.
    pub paper: Published,
}

/// What a fork costs more with squall than without.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Overhead {
    pub lower_quartile: f64,
    pub median: f64,
    pub upper_quartile: f64,
    /// Where the median is, with 95 % confidence.
    pub interval_95: [f64; 2],
}

impl Overhead {
    /// From times of one round each.
    fn of(without: &[f64], with: &[f64]) -> Overhead {
        let pairs = without.iter().zip(with);
        let percents: Vec<f64> = pairs
            .map(|(without, with)| (with / without - 1.0) * 100.0)
            .collect();
        let Spread { low, median, high } = Spread::of(percents.clone());
        Overhead {
            lower_quartile: low,
            median,
            upper_quartile: high,
            interval_95: interval_of_median(percents),
        }
    }
}

/// Measures the kinds of process in turns.
pub fn measure(effort: Effort) -> Result<Forks, Failure> {
    let mut times = [const { Vec::new() }; Kind::ALL.len()];
    let clock = Instant::now();
    let mut round = 0;
    while round < effort.rounds || clock.elapsed() < effort.time {
        for place in 0..times.len() {
            let turn = (round + place) % times.len();
            times[turn].push(start(Kind::ALL[turn])?);
        }
        round += 1;
    }
    let [without, with, child_draws] = times;
    Ok(Forks {
        unit: "ns",
        rounds: round,
        forks_of_a_process: FORKS,
        without_squall: Figure::of(&without),
        with_squall: Figure::of(&with),
        with_squall_child_draws: Figure::of(&child_draws),
        overhead_percent: Overhead::of(&without, &with),
        paper: paper::FORK,
    })
}

/// Starts a process of `kind` and returns its median, in nanoseconds.
fn start(kind: Kind) -> Result<f64, Failure> {
    // This very image, even if a build has replaced the file since.
    let program = Path::new("/proc/self/exe");
    let output = Command::new(program)
        .arg("cost")
        .env(VARIABLE, kind.name())
        .output()
        .map_err(|error| failure(&error.to_string()))?;
    std::str::from_utf8(&output.stdout)
        .ok()
        .and_then(|line| line.trim().parse().ok())
        .ok_or_else(|| failure(String::from_utf8_lossy(&output.stderr).trim()))
}

fn failure(cause: &str) -> Failure {
    Failure::Runtime(format!("a process to measure forks in: {cause}"))
}

/// What kind of forking process this is, if it was started as one.
pub fn this_process() -> Option<Kind> {
    let name = std::env::var_os(VARIABLE)?;
    Kind::ALL.into_iter().find(|kind| name == kind.name())
}

/// Forks, and prints the median in nanoseconds.
pub fn serve(kind: Kind) -> Result<(), Failure> {
    if kind != Kind::Without {
        draw();
    }
    let mut times = Vec::with_capacity(FORKS);
    for fork in 0..WARM_UP + FORKS {
        let clock = Instant::now();
        process::fork_and_wait(kind == Kind::ChildDraws)
            .map_err(|error| Failure::Runtime(format!("fork: {error}")))?;
        if fork >= WARM_UP {
            times.push(clock.elapsed().as_nanos() as f64);
        }
    }
    output::print(&format!("{}\n", Spread::of(times).median))
}

/// Draws as a program that goes on drawing does: the first request is served on its own, the
/// next ones decide about memory and guards and fill the buffer.
fn draw() {
    let mut out = [0; 32];
    for _ in 0..3 {
        squall::fill(&mut out);
    }
    std::hint::black_box(squall::u64());
}
