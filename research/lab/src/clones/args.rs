//! Arguments of `squall-lab boot` and `squall-lab reset`, and the scenarios: what the clones of a snapshot do,
//! and in which order they are resumed.

use std::fmt;
use std::path::PathBuf;

use clap::builder::TypedValueParser as _;
use clap::{Args, ValueEnum as _};
use squall_guests::debian::Architecture;
use squall_probe::Mode;

use super::experiment::Order;
use super::machine::Machine;
use crate::vm::{Accelerator, Spec};

/// Options of `squall-lab reset`.
#[derive(Debug, Args)]
pub struct ResetArguments {
    /// Options of both commands.
    #[command(flatten)]
    pub lab: LabArguments,

    /// The clones' activity; may be given more than once
    #[arg(long, value_enum, default_value = "ticks")]
    pub scenario: Vec<Scenario>,
}

/// Options of all commands with machines.
#[derive(Debug, Args)]
pub struct HostArguments {
    /// How to run guests: tcg (QEMU's translator) or kvm
    #[arg(long, value_enum, default_value = "tcg")]
    pub accelerator: Accelerator,

    /// Longest time that a step of a machine may take, in seconds
    #[arg(long, default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub timeout: u64,

    /// The cache of `scripts/lab-deps.sh`
    #[arg(long, value_name = "DIR")]
    pub cache: Option<PathBuf>,
}

/// Options of `boot` and `reset`.
#[derive(Debug, Args)]
pub struct LabArguments {
    /// How many times to boot or resume each machine
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u16).range(2..=1000).map(usize::from))]
    pub runs: usize,

    /// Use only this machine: 6.1, 6.1+vmgenid, 6.12, 6.12+vmgenid or newest+vmgenid+vmclock; may be
    /// given more than once
    ///
    /// KERNEL+vmgenid+module is a machine in which the kernel module shows vmgenid's page, and
    /// KERNEL+vmgenid+copy one in which it shows a copy that never changes, as a control.
    ///
    /// 6.12-arm64, 6.12-arm64-16k, newest-arm64 and newest-arm64-16k have arm64 with pages of 4 or 16
    /// KiB, and no random instruction; with +rndr they have it. 6.12-arm64+slow has a cycle counter of 20
    /// kHz. They run the scenarios ticks, together, threads and forks.
    ///
    /// KERNEL+kvm-clock and KERNEL+vmgenid+kvm-clock are machines with kvm-clock, which QEMU emulates with
    /// the lab's patch. With +stale-kvm-clock a clone keeps the old records, as a control.
    #[arg(long, value_name = "MACHINE", value_parser = Machine::parser(), hide_possible_values = true)]
    pub machine: Vec<Machine>,

    /// How many CPUs each machine has
    #[arg(long, default_value_t = Spec::CPUS, value_parser = clap::value_parser!(u16).range(1..=8).map(usize::from))]
    pub cpus: usize,

    /// How machines are run.
    #[command(flatten)]
    pub host: HostArguments,

    /// Also write the report to this directory: JSON and Markdown
    #[arg(long, value_name = "DIR")]
    pub output: Option<PathBuf>,

    /// Print one JSON object with stable snake_case keys; missing values are null
    ///
    /// Keys: date, versions and experiments. Each of experiments has kind (boot or reset), machine,
    /// kernel, qemu, accelerator, mode, facts (the guest's report on itself), runs, verdict (with
    /// validity, which is "valid" or an object with invalid, and violated), are_clones, sources,
    /// guarded_together and uncertainty. Each of sources has source, fewest_outputs,
    /// under_way, repeats (outputs, repeated_outputs, repeated_words,
    /// machines_with_repeats) and window, null for a boot (requests, us_to_new_state,
    /// clones_without_new_state, us_to_notice, clones_without_notice). uncertainty has trials, events, bootstrap,
    /// outputs, paper_has_1024, fast_has_512 and both_have_1024. New keys may be added.
    #[arg(long)]
    pub json: bool,
}

impl LabArguments {
    /// The machines that were asked for.
    pub fn machines(&self) -> Vec<Machine> {
        if self.machine.is_empty() {
            Machine::campaign()
        } else {
            self.machine.clone()
        }
    }
}

/// A scenario of resets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Scenario {
    /// Every source returns 512 bits every 500 µs; one clone after the other
    Ticks,
    /// Like ticks, with several clones at the same time
    Together,
    /// Threads draw without pause, and the snapshot is taken in the middle
    Threads,
    /// Like ticks, with a child forked before the snapshot, and children forked all the time
    Forks,
    /// A program in Go draws from squall's Go module, and from a buffer beside it; needs Go to build
    Go,
    /// A program in C preloads squall, and nginx has it as OpenSSL's provider; needs a C compiler
    Programs,
    /// Python, Node.js and Java draw, with squall and without, and have drawn before the snapshot; needs a JDK and
    /// `scripts/lab-deps.sh sandbox`
    Sandbox,
}

impl Scenario {
    /// What the probe does in this scenario.
    pub fn mode(self) -> Mode {
        match self {
            Scenario::Ticks | Scenario::Together => Mode::Ticks,
            Scenario::Threads => Mode::Threads,
            Scenario::Forks => Mode::Forks,
            Scenario::Go => Mode::Go,
            Scenario::Programs => Mode::Programs,
            Scenario::Sandbox => Mode::Sandbox,
        }
    }

    /// Whether machines with these CPUs have the scenario. On arm64 the lab has no nginx, no interpreters and no Go
    /// programs.
    pub fn runs_on(self, architecture: Architecture) -> bool {
        let is_for_all = matches!(
            self,
            Scenario::Ticks | Scenario::Together | Scenario::Threads | Scenario::Forks
        );
        is_for_all || architecture == Architecture::Amd64
    }

    /// The order in which clones are resumed.
    pub fn order(self) -> Order {
        match self {
            Scenario::Together => Order::Together,
            _ => Order::OneByOne,
        }
    }
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.to_possible_value().expect("no scenario is hidden");
        f.write_str(value.get_name())
    }
}
