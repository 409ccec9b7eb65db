//! What can be said on the command line.

use clap::{Args, Parser, Subcommand};

/// Attacks on the old Linux RNG, run for real, and what accumulators cost.
#[derive(Debug, Parser)]
#[command(
    name = "squall-lab",
    version,
    after_help = "Examples:
  squall-lab attack urandom              64,000 random bits in, and every byte out predicted
  squall-lab attack estimator --json     the same kind of report for a program
  squall-lab cost --quick                what an input and an output cost

Exit codes: 0 for success and for a reader that has seen enough, 1 for a failure or a claim that
did not hold, 2 for a wrong argument. A missed target of cost is no failure.

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
    /// before the events and knows all of them but their random bits, computes the output and
    /// compares it byte for byte. Then the same events go into Whirlwind and the robust PRNG. As a
    /// control, whoever is given the random bits as well must predict everything, everywhere.
    ///
    /// All credit is zero at the start, and nothing but the events happens: in a kernel, interrupts
    /// earn a bit of credit for each 64 of them, or each second.
    #[command(after_help = "Examples:
  squall-lab attack urandom              64,000 random bits in, and every byte out predicted
  squall-lab attack estimator --json     for a program

Exit codes: 0 if all went as claimed, 1 if not, 2 for a wrong argument.")]
    Attack {
        /// Which attack.
        #[command(subcommand)]
        attack: AttackCommand,
    },
    /// Measure what inputs and outputs cost in each design
    ///
    /// Whirlwind, the robust PRNG and the model of the old RNG have their turns in each round; beside
    /// them are the figures that Whirlwind's authors published, and at the end squall's targets. A
    /// full run takes two minutes and wants an otherwise idle machine.
    #[command(after_help = "Examples:
  squall-lab cost
      tables, targets, and notes on what is compared
  squall-lab cost --quick
      the same in some seconds, and only about right
  squall-lab cost --json | jq '.targets[] | select(.met | not)'
      the targets that were missed

Exit codes: 0 even if a target is missed, 1 if something could not be measured or written, 2 for a
wrong argument.")]
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
    /// The attacker knew the state once. Then 64,000 random bits go in, for which the old estimator
    /// credits nothing; so nothing is transferred to the pool that /dev/urandom reads. As the
    /// counterpart, events that say nothing earn some credit afterwards, and the next read is out of
    /// the attacker's reach: the random bits were in the input pool all the time.
    #[command(after_help = "Examples:
  squall-lab attack urandom
      64 bytes of each system, and how many of them the attacker predicted
  squall-lab attack urandom --json > report.json && echo as claimed
      for a script: the exit code says whether it went as claimed")]
    Urandom(AttackArguments),
    /// /dev/random gives predictable bytes, having dropped the entropy it was given
    ///
    /// The attacker knew the state once, and earns credit for no entropy. With enough credited,
    /// the old RNG drops all but one of 4096 events: 4000 are offered, with 256,000 random bits, and
    /// all are dropped.
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

/// What to measure, and how to report it.
#[derive(Debug, Args)]
pub struct CostArguments {
    /// One JSON object: stable snake_case keys; what does not exist is null
    ///
    /// Keys: machine (with cpu, kernel, release_build, random_instruction and sha_instructions),
    /// quick, operations, throughput, fork and targets.
    ///
    /// operations has add_input_without_compression, add_input, interrupt, absorb_16_bytes,
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
    /// median, upper_quartile and interval_95, the two ends of where the median is with 95 %
    /// confidence.
    ///
    /// Each of targets has target, bound (at_most, under or above), limit, measured, unit and met.
    /// New keys may be added.
    #[arg(long)]
    pub json: bool,

    /// Fewer rounds: some seconds, and figures that are only about right
    #[arg(long)]
    pub quick: bool,
}
