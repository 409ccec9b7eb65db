//! What can be said on the command line.

use clap::{Args, Parser, Subcommand};

/// Attacks on the old Linux RNG, run for real, and what accumulators cost.
#[derive(Debug, Parser)]
#[command(
    name = "squall-lab",
    version,
    after_help = "Examples:
  squall-lab attack urandom              64,000 true bits in, and every byte out predicted
  squall-lab attack estimator --json     the same kind of report for a program
  squall-lab cost --quick                what an input and an output cost

Exit codes: 0 for success and for a reader that has seen enough, 1 for a failure or a claim that
did not hold, 2 for a wrong argument.

See `squall-lab attack --help` for more."
)]
pub struct Arguments {
    /// What to do; help if nothing.
    #[command(subcommand)]
    pub command: Option<Command>,
}

impl squall_command::usage::Arguments for Arguments {
    type Command = Command;

    fn into_command(self) -> Option<Command> {
        self.command
    }
}

/// What the lab can do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Attack the old Linux RNG, and squall's accumulators with the same events
    ///
    /// Each attack runs against a model of the old RNG. The attacker holds a copy of its state from
    /// before the events and knows all of them but their true entropy, computes the output and
    /// compares it byte for byte. Then the same events go into Whirlwind and the robust PRNG. As a
    /// control, whoever is given the entropy as well must predict everything, everywhere.
    #[command(after_help = "Examples:
  squall-lab attack urandom              64,000 true bits in, and every byte out predicted
  squall-lab attack estimator --json     for a program

Exit codes: 0 if all went as claimed, 1 if not, 2 for a wrong argument.")]
    Attack {
        /// Which attack.
        #[command(subcommand)]
        attack: AttackCommand,
    },
    /// Measure what inputs and outputs cost in each design
    Cost(CostArguments),
}

/// Which attack, and how to report it.
#[derive(Debug, Subcommand)]
pub enum AttackCommand {
    /// Credit for entropy that is not there, and none for entropy that is
    ///
    /// The old estimator looks at the times of events and at nothing else. Regular steps of 4096
    /// and 2048 jiffies earn 11 bits an event without any entropy; steps of one jiffy earn
    /// nothing, whatever else the events bring.
    #[command(after_help = "Examples:
  squall-lab attack estimator
      both cases, with 64 bytes read from each system
  squall-lab attack estimator --json | jq '.scenarios[].systems[0].credited_bits'
      what the old estimator made of them")]
    Estimator(AttackArguments),
    /// /dev/urandom stays predictable, however much entropy goes in
    ///
    /// The attacker knew the state once. Then 64,000 true bits go in, for which the old estimator
    /// credits nothing; so nothing is transferred to the pool that /dev/urandom reads.
    #[command(after_help = "Examples:
  squall-lab attack urandom
      64 bytes of each system, and how many of them the attacker predicted
  squall-lab attack urandom --json > report.json && echo as claimed
      for a script: the exit code says whether it went as claimed")]
    Urandom(AttackArguments),
    /// /dev/random gives predictable bytes, having dropped the entropy it was given
    ///
    /// The attacker knew the state once, and earns credit for no entropy. With enough credited,
    /// the old RNG drops all but one of 4096 events, and so 256,000 true bits.
    #[command(after_help = "Examples:
  squall-lab attack random
      all bytes until /dev/random would wait, and how many of them the attacker predicted
  squall-lab attack random --json | jq '.scenarios[].systems[] | [.system, .bytes_predicted]'
      the same in short")]
    Random(AttackArguments),
}

/// How to report an attack.
#[derive(Debug, Args)]
pub struct AttackArguments {
    /// One JSON object: stable snake_case keys; what does not exist is null
    ///
    /// Keys: attack, held (whether all went as claimed) and scenarios, a list of objects with
    /// name, events, true_entropy_bits and systems. Each of systems has system (legacy_dev_random,
    /// legacy_dev_urandom, whirlwind or robust_489), credited_bits (null without an estimator),
    /// bytes_asked, bytes_given, bytes_predicted, bytes_predicted_with_secrets (the control: all
    /// that were given), claim (everything_predicted, nothing_predicted or nothing_given) and
    /// fault (null, claim, credit or control). New keys may be added.
    #[arg(long)]
    pub json: bool,
}

/// What to measure, and how to report it.
#[derive(Debug, Args)]
pub struct CostArguments {
    /// One JSON object with stable snake_case keys
    #[arg(long)]
    pub json: bool,

    /// Fewer rounds: some seconds, and figures that are only about right
    #[arg(long)]
    pub quick: bool,
}
