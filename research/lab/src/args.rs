//! The commands. The arguments of each are in its folder.

use clap::{Parser, Subcommand};
use squall_bench::args::BenchArguments;

use crate::attack::AttackCommand;
use crate::clones::{LabArguments, ResetArguments};
use crate::cost::CostArguments;
use crate::processes::ProcessesArguments;

/// Clones of virtual machines, attacks on the old Linux RNG, and what accumulators cost.
#[derive(Debug, Parser)]
#[command(
    name = "squall-lab",
    version,
    after_help = "Examples:
  squall-lab reset --runs 4              clone machines, and report which output they repeat
  squall-lab attack urandom              predict every byte after an input of 64,000 random bits
  squall-lab attack estimator --json     a report for programs
  squall-lab cost --quick                measure the cost of inputs and outputs

Exit codes: 0 for success (also if the reader closes the output early), 1 for a failure or a claim
that did not hold, 2 for a wrong argument.

See `squall-lab attack --help` for more."
)]
pub struct Arguments {
    /// The command. Without one, the help is printed.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// What the lab can do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Attack the old Linux RNG, and squall's accumulators with the same events
    ///
    /// Each attack runs against a model of the old RNG. The attacker has a copy of its state from
    /// before the events, and knows the events except their random bits. The attacker computes the
    /// output from that, and the lab compares it with the real output byte by byte. Then the same
    /// events go into Whirlwind and the robust PRNG. As a control, an attacker who also knows the
    /// random bits must predict all output of every system.
    ///
    /// All credit is zero at the start, and no other events happen. In a kernel, interrupts would earn
    /// a bit of credit for every 64 of them, or every second.
    #[command(
        after_help = "Exit codes: 0 if every claim and control held, 1 if not, 2 for a wrong argument.

See `squall-lab attack urandom --help` for examples."
    )]
    Attack {
        /// Which attack.
        #[command(subcommand)]
        attack: AttackCommand,
    },
    /// Measure the cost of inputs and outputs in each design
    ///
    /// Whirlwind, the robust PRNG and the model of the old RNG take turns in each round; then processes
    /// fork that have drawn or not. The table also shows the figures that Whirlwind's authors published.
    /// A full run takes two minutes and needs an otherwise idle machine.
    #[command(after_help = "Examples:
  squall-lab cost
      a table, and notes on the comparison
  squall-lab cost --quick
      the same in a few seconds, with approximate figures
  squall-lab bench --workload fill --source whirlwind --source robust --source legacy
      their output by its length

Exit codes: 0 for any figures, 1 if something could not be measured or written, 2 for a wrong
argument.")]
    Cost(CostArguments),
    /// `squall bench` with two more sources: the robust PRNG, and the model of the old RNG
    Bench(BenchArguments),
    /// Boot virtual machines, and look for output that their generators repeat
    ///
    /// Each boot is a real kernel under QEMU, with a probe that requests 512 bits from every source
    /// every 500 µs, 500 times. Reports repeats, and how much of Whirlwind's input is unpredictable.
    #[command(after_help = "Examples:
  squall-lab boot --machine 6.12 --runs 5
      one machine, five times
  squall-lab boot --output boots
      50 boots of each machine: boots/boot.json and boots/boot.md

Needs what `scripts/lab-deps.sh` fetches.

Exit codes: 0 for success, 1 if a claim was wrong or something failed, 2 for a wrong argument.")]
    Boot(LabArguments),
    /// Resume virtual machines from one snapshot, and look for output that clones repeat
    ///
    /// A machine is stopped while its sources draw, and resumed many times from there. Reports the
    /// repeats of each source, how long it takes until it has new state, how many requests it serves
    /// until then, and how much of Whirlwind's input is unpredictable. The controls must repeat in
    /// every clone, or the run is invalid. The controls are a generator without guards, and squall
    /// with its guards off; in the scenario go, a generator without guards; in the scenario programs, a
    /// buffer in a program in C, and OpenSSL's own generator in nginx.
    #[command(after_help = "Examples:
  squall-lab reset --machine 6.12+vmgenid --runs 4
      one machine, four clones
  squall-lab reset --scenario threads --scenario forks
      snapshots in the middle of heavy drawing, and with forked children
  squall-lab reset --scenario go --runs 20
      a program in Go, which needs Go 1.26 to build
  squall-lab reset --scenario programs --runs 20
      a program in C that preloads squall, and nginx with OpenSSL's provider

Needs what `scripts/lab-deps.sh` fetches.

Exit codes: 0 for success, 1 if a claim was wrong, the run was invalid or something failed, 2 for a
wrong argument.")]
    Reset(ResetArguments),
    /// Look for a record of kvm-clock that KVM has not rewritten in a clone
    ///
    /// Small guests on /dev/kvm are stopped at arbitrary instructions, and copied into new machines in all the
    /// ways in which monitors restore one. Nothing that a clone sees may be stale: the record of the CPU that
    /// looks, the sum of all records, and the numbers that a thread takes while it is moved from CPU to CPU.
    /// Five controls must show stale records each time. The report may be sent to others: it names kernel,
    /// CPU, hypervisor and modules, and nothing else of the machine.
    #[cfg(target_arch = "x86_64")]
    #[command(after_help = "Examples:
  squall-lab kvm
      50 snapshots, 20 clones each, in half a minute
  squall-lab kvm --snapshots 300 --seed 7 --output records
      a longer run: records/kvm.json and records/kvm.md

Exit codes: 0 if every claim and control held, 1 if not, or if there is no /dev/kvm that can be used, 2
for a wrong argument.")]
    Kvm(crate::kvm::KvmArguments),
    /// Restore checkpoints of processes many times, and look for values that the copies share
    ///
    /// Each program draws, is checkpointed once, and is restored many times, by two versions of CRIU and by
    /// gVisor. Reports the values that two copies share, and those that a copy shares with a child that it
    /// forks. Controls, such as the C library's getrandom under CRIU 4.1, must repeat.
    #[command(after_help = "Examples:
  squall-lab processes --restores 6
      every program with each tool, in a few minutes
  squall-lab processes --tool criu-4.1 --program libc --program c
      the C library and libsquall, 50 times
  squall-lab processes --output docs/records
      a record: docs/records/processes.json and docs/records/processes.md

Needs root, and what `make lab-deps` and `scripts/lab-deps.sh criu-4.1 criu-4.2 gvisor` fetch.

Exit codes: 0 for success, 1 if a claim was wrong, a control did not repeat or something failed, 2 for
a wrong argument.")]
    Processes(ProcessesArguments),
}
