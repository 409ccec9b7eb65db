//! Attacks on the old Linux RNG, run for real, and the same events put into squall's accumulators.
//!
//! The attacker holds a copy of the state from before the events, and knows when each event came
//! and all it brought but what was drawn at random. They run the design from their copy and
//! predict its output byte for byte. A control goes with every trial: whoever is given the secrets
//! as well must predict everything, or the trial shows nothing.

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

/// The attacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Attack {
    /// Much credit for no entropy, and no credit for much.
    Estimator,
    /// /dev/urandom does not see what goes in.
    Urandom,
    /// /dev/random drops what goes in.
    Random,
}

impl Attack {
    /// Runs the attack against every system.
    fn mount(self) -> AttackReport {
        let scenarios = match self {
            Attack::Estimator => vec![scenario::no_entropy(), scenario::no_credit()],
            Attack::Urandom => scenario::urandom().into(),
            Attack::Random => vec![scenario::random()],
        };
        AttackReport::new(
            self,
            scenarios.iter().map(|scenario| scenario.play()).collect(),
        )
    }
}

/// Mounts an attack and prints its report; fails if a claim or a control did not hold.
pub fn run(command: &AttackCommand) -> Result<(), Failure> {
    let (attack, options) = match command {
        AttackCommand::Estimator(options) => (Attack::Estimator, options),
        AttackCommand::Urandom(options) => (Attack::Urandom, options),
        AttackCommand::Random(options) => (Attack::Random, options),
    };
    let report = attack.mount();
    let printed = if options.json {
        output::print_json(&report)
    } else {
        output::print(&report.to_string())
    };
    // Told even if nobody reads the report.
    report.verdict()?;
    printed
}
