//! Measures what a process that has drawn pays at each fork, like lmbench's lat_proc ("fork + exit"): a
//! process forks, the child exits at once, and the parent waits for it.
//! The expected difference is below 1 %, but two runs of the same program differ by more, because of
//! where their memory lies and what else the machine does. So each round starts a new process of each
//! kind, one after the other, in changing order. Each process forks some tens of times and reports its
//! median. A round gives a ratio, and the result is the median of hundreds of ratios with its
//! confidence interval. Two kinds are identical; their difference shows the resolution of the
//! measurement.

use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Instant;

use serde::Serialize;
use squall::MemoryKind;
use squall_tools::Failure;
use squall_tools::measure::fork::{self, Forked};
use squall_tools::measure::{Effort, Orders, Spread, interval_of_median};
use squall_tools::output;

use super::figures::Figure;
use super::paper::{self, Published};

/// Tells a process to fork, and what kind it is. It is not an argument, because it is not part of the
/// command's interface.
const VARIABLE: &str = "SQUALL_LAB_FORKING_PROCESS";

/// Forks of a process that are not counted, and forks that are.
const WARM_UP: usize = 5;
const FORKS: usize = 50;

/// A kind of process that forks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It has never drawn.
    Without,
    /// The same as `Without`, to show the resolution of the measurement.
    WithoutAgain,
    /// It drew before it forked, so it has squall's memory.
    With,
    /// It drew, and each child draws 32 bytes before it exits.
    ChildDraws,
}

impl Kind {
    const ALL: [Kind; 4] = [
        Kind::Without,
        Kind::WithoutAgain,
        Kind::With,
        Kind::ChildDraws,
    ];

    fn name(self) -> &'static str {
        match self {
            Kind::Without => "without",
            Kind::WithoutAgain => "without-again",
            Kind::With => "with",
            Kind::ChildDraws => "child-draws",
        }
    }

    fn draws(self) -> bool {
        matches!(self, Kind::With | Kind::ChildDraws)
    }

    /// What a child does. Returns the bytes it drew, or else zeros.
    fn in_child(self) -> [u8; 32] {
        let mut out = [0; 32];
        if self == Kind::ChildDraws {
            squall::fill(&mut out);
        }
        out
    }
}

/// The costs of forks.
#[derive(Debug, Serialize)]
pub struct Forks {
    pub unit: &'static str,
    pub rounds: usize,
    pub forks_of_a_process: usize,
    pub without_squall: Figure,
    pub without_squall_again: Figure,
    pub with_squall: Figure,
    pub with_squall_child_draws: Figure,
    pub overhead_percent: Overhead,
    /// The control: the overhead of one kind of process without squall over the other.
    pub null_overhead_percent: Overhead,
    /// The paper's figures for kernels with Whirlwind and with the old RNG.
    pub paper: Published,
}

impl Forks {
    /// Computes the costs from times of every kind, in nanoseconds. Times at the same index are from
    /// the same round.
    pub fn of(times: [Vec<f64>; Kind::ALL.len()]) -> Forks {
        let [without, without_again, with, child_draws] = times;
        Forks {
            unit: "ns",
            rounds: without.len(),
            forks_of_a_process: FORKS,
            without_squall: Figure::of(&without),
            without_squall_again: Figure::of(&without_again),
            with_squall: Figure::of(&with),
            with_squall_child_draws: Figure::of(&child_draws),
            overhead_percent: Overhead::of(&without, &with),
            null_overhead_percent: Overhead::of(&without, &without_again),
            paper: paper::FORK,
        }
    }
}

/// How much more a fork costs with squall than without, in percent.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Overhead {
    pub lower_quartile: f64,
    pub median: f64,
    pub upper_quartile: f64,
    /// The 95 % confidence interval of the median.
    pub interval_95: [f64; 2],
}

impl Overhead {
    /// Computes the overhead from times; those at the same index are from the same round.
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

/// Measures all kinds of process in turns.
pub fn measure(effort: Effort) -> Result<Forks, Failure> {
    let mut times = [const { Vec::new() }; Kind::ALL.len()];
    let mut orders = Orders::default();
    let clock = Instant::now();
    let mut round = 0;
    while round < effort.rounds || clock.elapsed() < effort.time {
        for turn in orders.next(times.len()) {
            times[turn].push(start(Kind::ALL[turn])?);
        }
        round += 1;
    }
    Ok(Forks::of(times))
}

/// Starts a process of `kind` and returns its median fork time in nanoseconds.
fn start(kind: Kind) -> Result<f64, Failure> {
    // Run this same image, even if a build has replaced the file.
    let program = Path::new("/proc/self/exe");
    let output = Command::new(program)
        .arg("cost")
        .env(VARIABLE, kind.name())
        .output()
        .map_err(|error| failure(&error.to_string()))?;
    median(&output)
}

/// Parses the median that a process printed; the process must have succeeded.
fn median(output: &Output) -> Result<f64, Failure> {
    let line = String::from_utf8_lossy(&output.stdout);
    match line.trim().parse() {
        Ok(median) if output.status.success() => Ok(median),
        _ => {
            let error = String::from_utf8_lossy(&output.stderr);
            Err(failure(&format!("{}, {}", output.status, error.trim())))
        }
    }
}

fn failure(cause: &str) -> Failure {
    Failure::Runtime(format!("the process that measures forks failed: {cause}"))
}

/// The kind of this process if it was started to fork, otherwise `None`.
pub fn this_process() -> Option<Kind> {
    let name = std::env::var_os(VARIABLE)?;
    Kind::ALL.into_iter().find(|kind| name == kind.name())
}

/// Forks, and prints the median in nanoseconds.
pub fn run_forking_process(kind: Kind) -> Result<(), Failure> {
    let before = wiped_mappings();
    if kind.draws() {
        draw();
    }
    let mut times = Vec::with_capacity(FORKS);
    for fork in 0..WARM_UP + FORKS {
        let clock = Instant::now();
        fork::fork(|| {
            black_box(kind.in_child());
            true
        })
        .and_then(Forked::wait)
        .map_err(|error| Failure::Runtime(format!("fork: {error}")))?;
        if fork >= WARM_UP {
            times.push(clock.elapsed().as_nanos() as f64);
        }
    }
    check(kind, before, wiped_mappings())?;
    output::print(&format!("{}\n", Spread::of(times).median))
}

/// Number of this process's mappings that are wiped in a child, such as squall's memory. None if the
/// kernel does not report it.
fn wiped_mappings() -> Option<usize> {
    let mappings = fs::read_to_string("/proc/self/smaps").ok()?;
    let flags = mappings.lines().filter_map(|l| l.strip_prefix("VmFlags:"));
    let is_wiped = |flags: &&str| flags.split(' ').any(|flag| flag == "wf");
    Some(flags.filter(is_wiped).count())
}

/// Fails unless squall's memory appeared exactly if the process drew. Where memory cannot be wiped on
/// fork, there is nothing to check.
fn check(kind: Kind, before: Option<usize>, after: Option<usize>) -> Result<(), Failure> {
    let has_memory = after > before;
    let is_visible = before.is_some() && squall::status().memory != MemoryKind::Plain;
    if is_visible && has_memory != kind.draws() {
        Err(Failure::Runtime(format!(
            "{}: squall's memory is there: {has_memory}",
            kind.name()
        )))
    } else {
        Ok(())
    }
}

/// Draws like a program that goes on drawing. The first request is served on its own; the next ones set
/// up memory and guards and fill the buffer.
fn draw() {
    let mut out = [0; 32];
    for _ in 0..3 {
        squall::fill(&mut out);
    }
    black_box(squall::u64());
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    use super::*;

    /// The overheads are 4, 1, 5, 2 and 3 % in the pairs of each round; the times alone show nothing.
    #[test]
    fn overheads_compare_times_of_one_round() {
        let without = [100.0, 1000.0, 200.0, 10.0, 5000.0];
        let with = [104.0, 1010.0, 210.0, 10.2, 5150.0];
        let overhead = Overhead::of(&without, &with);
        let [low, high] = overhead.interval_95;
        let figures = [
            overhead.lower_quartile,
            overhead.median,
            overhead.upper_quartile,
            low,
            high,
        ];
        let rounded = figures.map(|percent| (percent * 1e6).round() / 1e6);
        assert_eq!(rounded, [2.0, 3.0, 4.0, 1.0, 5.0]);
    }

    #[test]
    fn each_kind_has_its_own_figure() {
        let kinds = [1.0, 1.1, 1.2, 1.4].map(|time| vec![100.0 * time; 3]);
        let forks = Forks::of(kinds);
        assert_eq!(forks.rounds, 3);
        let medians = [
            forks.without_squall,
            forks.without_squall_again,
            forks.with_squall,
            forks.with_squall_child_draws,
        ];
        let medians = medians.map(|figure| figure.median.round());
        assert_eq!(medians, [100.0, 110.0, 120.0, 140.0]);
        assert_eq!(forks.null_overhead_percent.median.round(), 10.0);
        assert_eq!(forks.overhead_percent.median.round(), 20.0);
    }

    #[test]
    fn only_the_right_kinds_draw() {
        let drew = Kind::ALL.map(Kind::draws);
        assert_eq!(drew, [false, false, true, true]);
        let child_drew = Kind::ALL.map(|kind| kind.in_child() != [0; 32]);
        assert_eq!(child_drew, [false, false, false, true]);
    }

    #[test]
    fn only_a_successful_process_counts() {
        let of = |status, line: &str| {
            median(&Output {
                status: ExitStatus::from_raw(status),
                stdout: line.into(),
                stderr: Vec::new(),
            })
        };
        assert!(matches!(of(0, "12.5\n"), Ok(12.5)));
        assert!(of(1 << 8, "12.5\n").is_err());
        assert!(of(0, "").is_err());
    }

    #[test]
    fn squalls_memory_must_match_the_kind() {
        let is_of_kind = |kind, mappings| check(kind, Some(3), Some(mappings)).is_ok();
        assert!(is_of_kind(Kind::Without, 3) && check(Kind::With, None, None).is_ok());
        let is_visible = squall::status().memory != MemoryKind::Plain;
        assert!(is_of_kind(Kind::With, 4) || !is_visible);
        assert_eq!(is_of_kind(Kind::With, 3), !is_visible);
        assert_eq!(is_of_kind(Kind::Without, 4), !is_visible);
    }
}
