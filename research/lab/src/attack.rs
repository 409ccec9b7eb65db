//! Runs attacks on the old Linux RNG, and feeds the same events to squall's accumulators.
//!
//! The attacker has a copy of the state from before the events. They know when each event came and
//! everything about it except what was drawn at random. They run the design from their copy and predict
//! its output byte for byte. Every trial has a control: an attacker who is also given the secrets must
//! predict everything, or the trial shows nothing.

mod report;
mod scenario;
mod system;
mod trial;

use clap::{Args, Subcommand};
use squall_tool_base::{Failure, output};

use report::AttackReport;
use scenario::Scenario;

/// Runs an attack and prints its report. Fails if a claim or a control did not hold.
pub fn run(command: &AttackCommand) -> Result<(), Failure> {
    let (attack, options, scenarios) = match command {
        AttackCommand::Estimator(options) => {
            let scenarios = vec![scenario::no_entropy(), scenario::no_credit()];
            ("estimator", options, scenarios)
        }
        AttackCommand::Urandom(options) => ("urandom", options, scenario::urandom().into()),
        AttackCommand::Random(options) => ("random", options, vec![scenario::random()]),
    };
    let scenarios = scenarios.iter().map(Scenario::run).collect();
    let report = AttackReport::new(attack, scenarios);
    let printed = if options.json {
        output::print_json(&report)
    } else {
        output::print(&report.to_string())
    };
    // A failed claim is reported even if the report could not be printed.
    report.verdict()?;
    printed
}

/// Which attack, and how to report it.
#[derive(Debug, Subcommand)]
pub enum AttackCommand {
    /// The estimator credits entropy that does not exist, and does not credit entropy that does
    ///
    /// The old estimator looks only at the times of events. Regular steps of 4096 and 2048 jiffies
    /// earn 11 bits per event without any entropy; steps of one jiffy earn nothing, whatever else
    /// the events contain.
    #[command(after_help = "Examples:
  squall-lab attack estimator
      both cases, with 64 bytes read from each system
  squall-lab attack estimator --json | jq '.scenarios[].systems[0].credited_bits'
      what the old estimator made of them")]
    Estimator(AttackArguments),
    /// /dev/urandom stays predictable, however much entropy goes in
    ///
    /// The attacker once knew the state. Then 64,000 random bits go in, for which the old estimator
    /// credits nothing, so nothing is transferred to the pool that /dev/urandom reads. As the
    /// counterpart, events without entropy then earn some credit, and the attacker cannot predict the
    /// next read: the random bits were in the input pool all the time.
    #[command(after_help = "Examples:
  squall-lab attack urandom
      64 bytes of each system, and how many of them the attacker predicted
  squall-lab attack urandom --json > report.json && echo as claimed
      for a script: the exit code says whether it went as claimed")]
    Urandom(AttackArguments),
    /// /dev/random returns predictable bytes after dropping the entropy that it got
    ///
    /// The attacker once knew the state, and earns credit without entropy. With enough credit, the
    /// old RNG drops all but one of 4096 events: 4000 are offered, with 256,000 random bits, and all
    /// are dropped.
    #[command(after_help = "Examples:
  squall-lab attack random
      all bytes until /dev/random would wait, and how many of them the attacker predicted
  squall-lab attack random --json | jq '.scenarios[].systems[] | [.system, .bytes_predicted]'
      the same in brief")]
    Random(AttackArguments),
}

/// How to report an attack.
#[derive(Debug, Args)]
pub struct AttackArguments {
    /// Print one JSON object with stable snake_case keys; missing values are null
    ///
    /// Keys: attack, held (whether every claim and control held) and scenarios, a list of objects with
    /// name, events, secret_bits (what the attacker does not know of them) and systems. Each of
    /// systems has system (legacy_dev_random, legacy_dev_urandom, whirlwind or robust_489),
    /// credited_bits (null without an estimator), bytes_asked, bytes_given, bytes_predicted,
    /// bytes_predicted_without_last_512_bits (by an attacker who knows all but the last 512 secret
    /// bits), bytes_predicted_with_secrets (the control: all that were given), claim
    /// (everything_predicted, nothing_predicted or nothing_given) and fault (null, claim, credit or
    /// control). New keys may be added.
    #[arg(long)]
    pub json: bool,
}
