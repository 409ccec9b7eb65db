//! What can be said on the command line.

use std::path::PathBuf;

use clap::builder::TypedValueParser as _;
use clap::{Args, Parser, Subcommand};
use squall_bench::args::BenchArguments;

use crate::clones::{Machine, Scenario};
use crate::debian::KernelName;
use crate::vm::Accelerator;

/// Clones of virtual machines, attacks on the old Linux RNG, and what accumulators cost.
#[derive(Debug, Parser)]
#[command(
    name = "squall-lab",
    version,
    after_help = "Examples:
  squall-lab reset --runs 4              clones of real machines, and what they give twice
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

impl squall_tools::usage::Arguments for Arguments {
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
    /// `squall bench` with two more sources: the robust PRNG, and the model of the old RNG
    Bench(BenchArguments),
    /// Fetch QEMU, Linux kernels and programs for guests, which are packages of Debian
    ///
    /// The machine's apt fetches them from its mirror, without root, and nothing is installed: they
    /// are unpacked in a cache. What is there already is not fetched again.
    ///
    /// The cache is $SQUALL_LAB_CACHE, or else squall-lab in $XDG_CACHE_HOME or in ~/.cache.
    #[command(after_help = "Examples:
  squall-lab deps
      fetch what is missing: 220 MB, 440 MB in the cache, and half a minute
  squall-lab deps --update
      fetch what there is a newer version of, and what is damaged
  squall-lab deps --only 6.12 --cache /tmp/lab
      QEMU, the programs and one kernel, elsewhere

Exit codes: 0 if all is there, 1 if something could not be fetched or written, 2 for a wrong
argument.")]
    Deps(DepsArguments),
    /// Boot virtual machines, and look for what their generators give twice
    ///
    /// Each boot is a real kernel under QEMU, with a probe that asks every source for 512 bits every
    /// 500 µs, 500 times. Reports repeats, and how much of what went into Whirlwind nobody can
    /// know.
    #[command(after_help = "Examples:
  squall-lab boot --machine 6.12 --runs 5
      one machine, five times
  squall-lab boot --output boots
      50 boots of each machine: boots/boot.json, boots/boot.md and plots

Needs what `squall-lab deps` fetches. Exit codes: 0 if nothing was wrong, 1 if a claim was or
something failed, 2 for a wrong argument.")]
    Boot(BootArguments),
    /// Resume virtual machines from one snapshot, and look for what clones give twice
    ///
    /// A machine is stopped while its sources draw, and resumed many times from there. Reports
    /// repeats by source, how long it takes until each has new state, how many requests are served
    /// until then, and how much of what went into Whirlwind nobody can know. The controls, a
    /// generator without guards and squall with its guards off, must repeat in every clone, or the
    /// run is invalid; in the scenario go, a generator without guards; in the scenario doors, a
    /// buffer in a program in C and OpenSSL's own generator in nginx.
    #[command(after_help = "Examples:
  squall-lab reset --machine 6.12+vmgenid --runs 4
      one machine, four clones
  squall-lab reset --scenario threads --scenario forks
      snapshots in the middle of heavy drawing, and with forked children
  squall-lab reset --scenario go --runs 20
      a program in Go, which takes Go 1.26 to build
  squall-lab reset --scenario doors --runs 20
      a program in C that preloads squall, and nginx with OpenSSL's provider

Needs what `squall-lab deps` fetches. Exit codes: 0 if nothing was wrong, 1 if a claim was, the run
is invalid or something failed, 2 for a wrong argument.")]
    Reset(ResetArguments),
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

/// What to fetch, and where to.
#[derive(Debug, Args)]
pub struct DepsArguments {
    /// The cache's directory
    #[arg(long, value_name = "DIR")]
    pub cache: Option<PathBuf>,

    /// Only these kernels, QEMU and the programs: 6.1, 6.12 or newest
    #[arg(long, value_name = "KERNEL", num_args = 1..)]
    pub only: Vec<KernelName>,

    /// Also fetch what there is a newer version of, and what is damaged
    #[arg(long)]
    pub update: bool,
}

/// What to boot.
#[derive(Debug, Args)]
pub struct BootArguments {
    /// What experiments have in common.
    #[command(flatten)]
    pub lab: LabArguments,
}

/// What to resume.
#[derive(Debug, Args)]
pub struct ResetArguments {
    /// What experiments have in common.
    #[command(flatten)]
    pub lab: LabArguments,

    /// What the clones do; may be given several times
    #[arg(long, value_enum, default_value = "ticks")]
    pub scenario: Vec<Scenario>,
}

/// What experiments with virtual machines have in common.
#[derive(Debug, Args)]
pub struct LabArguments {
    /// How many times each machine is booted or resumed
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u16).range(2..=1000).map(usize::from))]
    pub runs: usize,

    /// Only this machine: 6.1, 6.1+vmgenid, 6.12, 6.12+vmgenid or newest+vmgenid+vmclock; may be
    /// given several times
    #[arg(long, value_name = "MACHINE")]
    pub machine: Vec<Machine>,

    /// How guests are run: tcg, QEMU's translator, or kvm
    #[arg(long, value_enum, default_value = "tcg")]
    pub accelerator: Accelerator,

    /// Longest time that a step of a machine may take, in seconds
    #[arg(long, default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub timeout: u64,

    /// The cache of `squall-lab deps`
    #[arg(long, value_name = "DIR")]
    pub cache: Option<PathBuf>,

    /// Also write the report there: JSON, Markdown and plots
    #[arg(long, value_name = "DIR")]
    pub output: Option<PathBuf>,

    /// One JSON object: stable snake_case keys; what does not exist is null
    ///
    /// Keys: date, versions and experiments. Each of experiments has kind (boot or reset), machine,
    /// kernel, qemu, accelerator, mode, facts (what the guest said of itself), runs, verdict (with
    /// validity, which is "valid" or an object with invalid, and violated), are_clones, sources,
    /// guarded_together, uncertainty and notes. Each of sources has source, fewest_outputs,
    /// under_way, repeats (outputs, repeated_outputs, repeated_words,
    /// repeated_words_of_one_machine, machines_with_repeats) and window, null for a boot (clones,
    /// requests, repeated_requests, us_to_new_state, clones_without_new_state, us_to_notice,
    /// clones_without_notice, repeats_after_new_state). uncertainty has trials, events, bootstrap,
    /// outputs, paper_has_1024, fast_has_512 and both_have_1024. New keys may be added.
    #[arg(long)]
    pub json: bool,
}

impl LabArguments {
    /// The machines that were asked for.
    pub fn machines(&self) -> Vec<Machine> {
        match self.machine.as_slice() {
            [] => Machine::ALL.to_vec(),
            machines => machines.to_vec(),
        }
    }
}
