//! Runs attacks on the old Linux RNG, and feeds the same events to squall's accumulators.
//!
//! The attacker has a copy of the state from before the events. They know when each event came and
//! everything about it except what was drawn at random. They run the design from their copy and predict
//! its output byte for byte. Every trial has a control: an attacker who is also given the secrets must
//! predict everything, or the trial shows nothing.

mod args;
mod event;
mod report;
mod scenario;
mod system;
mod trial;

use serde::Serialize;
use squall_tools::Failure;
use squall_tools::output;

pub use args::AttackCommand;

use report::AttackReport;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Attack {
    /// The estimator credits events without entropy, and does not credit events with much.
    Estimator,
    /// /dev/urandom's output ignores new events.
    Urandom,
    /// /dev/random drops new events.
    Random,
}

impl Attack {
    /// Runs the attack against every system.
    fn run_all(self) -> AttackReport {
        let scenarios = match self {
            Attack::Estimator => vec![scenario::no_entropy(), scenario::no_credit()],
            Attack::Urandom => scenario::urandom().into(),
            Attack::Random => vec![scenario::random()],
        };
        AttackReport::new(
            self,
            scenarios.iter().map(|scenario| scenario.run()).collect(),
        )
    }
}

/// Runs an attack and prints its report. Fails if a claim or a control did not hold.
pub fn run(command: &AttackCommand) -> Result<(), Failure> {
    let (attack, options) = match command {
        AttackCommand::Estimator(options) => (Attack::Estimator, options),
        AttackCommand::Urandom(options) => (Attack::Urandom, options),
        AttackCommand::Random(options) => (Attack::Random, options),
    };
    let report = attack.run_all();
    let printed = if options.json {
        output::print_json(&report)
    } else {
        output::print(&report.to_string())
    };
    // A failed claim is reported even if the report could not be printed.
    report.verdict()?;
    printed
}
