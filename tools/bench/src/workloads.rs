//! What sources are asked to do: a file a workload.

pub mod article;
pub mod fill;
pub mod fork;
pub mod pipe;
mod plan;
pub mod proposal;
pub mod start;
pub mod threads;
pub mod words;

use std::time::Duration;

use clap::ValueEnum;

use crate::candidates::Candidates;
use crate::go::Program;
use crate::machine;
use crate::report::model::Workload;
use crate::session::{Effort, Session};
use plan::Expected;

/// A kind of workload, as it is named on the command line; in the order of reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// One u32, one u64
    Words,
    /// Requests by their length
    Fill,
    /// 16,777,216 numbers (with --quick 1,048,576), as in the proposal of a vDSO getrandom
    VdsoProposal,
    /// One thread and more of them
    Threads,
    /// The two programs of "Locking in crypto/rand"
    Go,
    /// Blocks through a pipe
    Pipe,
    /// The first bytes of a new process
    Start,
    /// Forks
    Fork,
}

type Measure = fn(&mut Bench) -> Vec<Workload>;

impl Kind {
    pub fn expected(self, effort: Effort) -> Duration {
        self.plan().0.of(effort)
    }

    /// How long it takes, and what measures it.
    fn plan(self) -> (Expected, Measure) {
        match self {
            Kind::Words => (words::EXPECTED, words::measure),
            Kind::Fill => (fill::EXPECTED, fill::measure),
            Kind::VdsoProposal => (proposal::EXPECTED, proposal::measure),
            Kind::Threads => (threads::EXPECTED, threads::measure),
            Kind::Go => (article::EXPECTED, article::measure),
            Kind::Pipe => (pipe::EXPECTED, pipe::measure),
            Kind::Start => (start::EXPECTED, start::measure),
            Kind::Fork => (fork::EXPECTED, fork::measure),
        }
    }

    /// Whether it is about one thread, which is best alone on a CPU.
    fn is_of_one_thread(self) -> bool {
        !matches!(self, Kind::Threads | Kind::Go | Kind::Pipe)
    }
}

/// Everything that workloads are measured with.
pub struct Bench<'a> {
    pub candidates: Candidates,
    pub session: Session,
    pub go: Option<&'a Program>,
    pub cpus: Vec<usize>,
    /// Whether the thread that measures was bound to a CPU.
    pub pinned: bool,
}

impl Bench<'_> {
    /// Measures workloads of `kind`; none if the run is interrupted.
    pub fn measure(&mut self, kind: Kind) -> Vec<Workload> {
        if self.session.is_interrupted() {
            return Vec::new();
        }
        if kind.is_of_one_thread() {
            self.pinned = machine::pin(&self.cpus)
        } else {
            machine::unpin(&self.cpus)
        }
        kind.plan().1(self)
    }
}
