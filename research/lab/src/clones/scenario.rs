//! Scenarios: what the clones of a snapshot do, and in which order they are resumed.

use std::fmt;

use squall_probe::Mode;

use super::experiment::Order;
use squall_guests::debian::Architecture;

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
    Doors,
    /// Like threads, on a CPU with the random instruction: squall serves bursts, and only the machine's
    /// stop reveals clones
    Bursts,
    /// The same in Go programs; needs Go to build
    GoBursts,
}

impl Scenario {
    /// What the probe does in this scenario.
    pub fn mode(self) -> Mode {
        match self {
            Scenario::Ticks | Scenario::Together => Mode::Ticks,
            Scenario::Threads => Mode::Threads,
            Scenario::Forks => Mode::Forks,
            Scenario::Go => Mode::Go,
            Scenario::Doors => Mode::Doors,
            Scenario::Bursts => Mode::Bursts,
            Scenario::GoBursts => Mode::GoBursts,
        }
    }

    /// Whether machines with these CPUs have the scenario. On arm64 squall serves no bursts, and the
    /// lab has no nginx and no Go programs.
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
        f.write_str(match self {
            Scenario::Ticks => "ticks",
            Scenario::Together => "together",
            Scenario::Threads => "threads",
            Scenario::Forks => "forks",
            Scenario::Go => "go",
            Scenario::Doors => "doors",
            Scenario::Bursts => "bursts",
            Scenario::GoBursts => "go-bursts",
        })
    }
}
