//! Measures the cost of inputs and outputs: Whirlwind and the robust PRNG beside the old Linux RNG,
//! with the figures of Whirlwind's authors and squall's targets.
//!
//! Generators take turns within a round, so other load on the machine affects all of them. Figures are
//! medians of batches, with quartiles. A missed target is a result, not a failure.

mod figures;
mod fork;
mod generators;
mod hardware;
mod operations;
mod paper;
mod table;
mod targets;

use std::time::Duration;

use clap::Args;
use generators::Generators;
use serde::Serialize;
use squall_tools::measure::Effort;
use squall_tools::measure::machine::{cpu, kernel};
use squall_tools::{Failure, output};

use fork::Forks;
use operations::{Operations, Speed};
use targets::Verdict;

/// How much to measure.
#[derive(Clone, Copy)]
struct Plan {
    /// Effort for an operation that is measured in batches.
    operation: Effort,
    /// Effort for each length of output.
    length: Effort,
    /// Number of bootstraps of each Whirlwind.
    bootstraps: usize,
    /// Effort for forks.
    forks: Effort,
}

/// A full run takes two minutes. Forks take half of that, because processes differ by more than the
/// 1 % of a fork's time that is to be resolved.
const FULL: Plan = Plan {
    operation: effort(41, 4_000),
    length: effort(41, 2_000),
    bootstraps: 1_000,
    forks: effort(401, 60_000),
};

/// Takes about 5 seconds.
const QUICK: Plan = Plan {
    operation: effort(5, 200),
    length: effort(5, 100),
    bootstraps: 50,
    forks: effort(5, 2_000),
};

const fn effort(rounds: usize, milliseconds: u64) -> Effort {
    Effort {
        rounds,
        time: Duration::from_millis(milliseconds),
    }
}

/// Measures and reports.
pub fn run(options: &CostArguments) -> Result<(), Failure> {
    if let Some(kind) = fork::this_process() {
        return fork::run_forking_process(kind);
    }
    let plan = if options.quick { QUICK } else { FULL };
    let report = measure(plan, options.quick)?;
    if options.json {
        output::print_json(&report)
    } else {
        output::print(&table::text(&report))
    }
}

fn measure(plan: Plan, quick: bool) -> Result<CostReport, Failure> {
    // Measure forks before this process has drawn or grown.
    let fork = fork::measure(plan.forks)?;
    let mut generators = Generators::new()?;
    let operations = operations::measure(&mut generators, plan);
    let throughput = operations::throughput(&mut generators, plan.length);
    let targets = targets::verdicts(&operations, &fork);
    Ok(CostReport {
        machine: MachineDescription::of_this(),
        quick,
        operations,
        throughput,
        fork,
        targets,
    })
}

/// Options of `squall-lab cost`.
#[derive(Debug, Args)]
pub struct CostArguments {
    /// Print one JSON object with stable snake_case keys; missing values are null
    ///
    /// Keys: machine (with cpu, kernel, release_build, random_instruction and sha_instructions),
    /// quick, operations, throughput, fork and targets.
    ///
    /// operations has add_input, interrupt, absorb_16_bytes,
    /// absorb_61_bytes, absorb_72_bytes, absorb_88_bytes, generate_4_bytes, generate_16_bytes,
    /// generate_64_bytes and bootstrap. Each of them has unit, generators and paper, as has each of
    /// the list throughput, beside block_bytes. generators has a figure for each that has the
    /// operation: whirlwind_sha512, whirlwind_sha256, whirlwind_davies_meyer, robust_489,
    /// robust_579, robust_705 and legacy. A figure has lower_quartile, median, upper_quartile and
    /// mean. paper has whirlwind and legacy, each null or with value, plus_minus (or null) and text,
    /// as published.
    ///
    /// fork has unit, rounds, forks_of_a_process, paper, the figures without_squall,
    /// without_squall_again, with_squall and with_squall_child_draws, and overhead_percent and
    /// null_overhead_percent (of one kind without squall over the other), each with lower_quartile,
    /// median, upper_quartile and interval_95, the 95 % confidence interval of the median.
    ///
    /// Each of targets has target, bound (at_most, under or above), limit, measured, unit and met.
    /// New keys may be added.
    #[arg(long)]
    pub json: bool,

    /// Run fewer rounds: a few seconds, with approximate figures
    #[arg(long)]
    pub quick: bool,
}

/// The complete report, as it is written to JSON.
#[derive(Debug, Serialize)]
pub struct CostReport {
    pub machine: MachineDescription,
    /// Whether this is a quick run, with only a few rounds.
    pub quick: bool,
    pub operations: Operations,
    pub throughput: Vec<Speed>,
    pub fork: Forks,
    pub targets: Vec<Verdict>,
}

/// The machine and the build.
#[derive(Debug, Serialize)]
pub struct MachineDescription {
    pub cpu: String,
    pub kernel: String,
    /// Whether this is a release build. Figures of other builds mean nothing.
    pub release_build: bool,
    /// Whether the CPU has a random instruction, which the old RNG then uses too.
    pub random_instruction: bool,
    /// Whether the CPU has SHA-1 instructions, which the model of the old RNG then uses.
    pub sha_instructions: bool,
}

impl MachineDescription {
    fn of_this() -> MachineDescription {
        MachineDescription {
            cpu: cpu(),
            kernel: kernel(),
            release_build: !cfg!(debug_assertions),
            random_instruction: hardware::random().is_some(),
            sha_instructions: hardware::has_sha(),
        }
    }
}
