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

/// A kind of workload, as it is named on the command line.
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

impl Kind {
    /// All of them, in the order of reports.
    pub const ALL: [Kind; 8] = [
        Kind::Words,
        Kind::Fill,
        Kind::VdsoProposal,
        Kind::Threads,
        Kind::Go,
        Kind::Pipe,
        Kind::Start,
        Kind::Fork,
    ];

    pub fn expected(self, effort: Effort) -> Duration {
        let time = match self {
            Kind::Words => words::EXPECTED,
            Kind::Fill => fill::EXPECTED,
            Kind::VdsoProposal => proposal::EXPECTED,
            Kind::Threads => threads::EXPECTED,
            Kind::Go => article::EXPECTED,
            Kind::Pipe => pipe::EXPECTED,
            Kind::Start => start::EXPECTED,
            Kind::Fork => fork::EXPECTED,
        };
        time.of(effort)
    }

    /// Whether it is about one thread, which is best alone on a CPU.
    fn is_of_one_thread(self) -> bool {
        !matches!(self, Kind::Threads | Kind::Go | Kind::Pipe)
    }
}

/// Everything that workloads are measured with.
pub struct Bench<'a> {
    pub candidates: &'a mut Candidates,
    pub session: &'a mut Session,
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
        let Bench {
            candidates,
            session,
            go,
            cpus,
            ..
        } = self;
        match kind {
            Kind::Words => vec![words::measure(candidates, session)],
            Kind::Fill => vec![fill::measure(candidates, session)],
            Kind::VdsoProposal => vec![proposal::measure(candidates, session)],
            Kind::Threads => threads::measure(candidates, session, cpus.len()).into(),
            Kind::Go => article::measure(candidates, session, *go).into(),
            Kind::Pipe => vec![pipe::measure(candidates, session)],
            Kind::Start => vec![start::measure(candidates, session, *go)],
            Kind::Fork => vec![fork::measure(candidates, session)],
        }
    }
}
