//! Measures the cost of inputs and outputs: Whirlwind and the robust PRNG beside the old Linux RNG,
//! with the figures of Whirlwind's authors and squall's targets.
//!
//! Generators take turns within a round, so other load on the machine affects all of them. Figures are
//! medians of batches, with quartiles. A missed target is a result, not a failure.

mod args;
mod buffered;
mod figures;
mod fork;
mod generators;
mod hardware;
mod machine;
mod operations;
mod paper;
mod report;
mod table;
mod targets;
mod throughput;

use std::time::Duration;

use squall_tools::measure::Effort;

pub use args::CostArguments;
use generators::Generators;
use report::CostReport;
use squall_tools::Failure;
use squall_tools::output;

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
        output::print(&table::of(&report))
    }
}

fn measure(plan: Plan, quick: bool) -> Result<CostReport, Failure> {
    // Measure forks before this process has drawn or grown.
    let fork = fork::measure(plan.forks)?;
    let mut generators = Generators::new()?;
    let operations = operations::measure(&mut generators, plan);
    let throughput = throughput::measure(&mut generators, plan.length);
    let targets = targets::of(&operations, &fork);
    Ok(CostReport {
        machine: machine::describe(),
        quick,
        operations,
        throughput,
        fork,
        targets,
    })
}
