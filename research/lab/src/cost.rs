//! What inputs and outputs cost: Whirlwind and the robust PRNG beside the old Linux RNG, with the
//! figures that Whirlwind's authors published, and whether squall's targets are met.
//!
//! Generators have their turns in the same round, so what else the machine does hits all of them;
//! figures are medians of batches, with quartiles. A missed target is a result, not a failure.

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

/// How much is measured.
#[derive(Clone, Copy)]
struct Plan {
    /// For an operation that is measured in batches.
    operation: Effort,
    /// For a length of output.
    length: Effort,
    /// Bootstraps of each Whirlwind.
    bootstraps: usize,
    /// For forks.
    forks: Effort,
}

/// Two minutes, half of them forks: 1 % of a fork is below what two processes differ by.
const FULL: Plan = Plan {
    operation: effort(41, 4_000),
    length: effort(41, 2_000),
    bootstraps: 1_000,
    forks: effort(401, 60_000),
};

/// Some 5 seconds.
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
        return fork::serve(kind);
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
    // Before this process has drawn or grown.
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
