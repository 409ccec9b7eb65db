//! What sources are asked to do: a file a workload.

pub mod article;
pub mod fill;
pub mod fork;
pub mod pipe;
pub mod proposal;
pub mod start;
pub mod threads;
pub mod words;

use std::time::Duration;

use clap::ValueEnum;
use squall_tools::measure::BATCH;
use squall_tools::measure::lanes::{Batch, Budget};

use crate::candidates::Candidates;
use crate::go::Program;
use crate::machine;
use crate::report::model::{SourceReport, State, Workload};
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

    /// How long it takes.
    pub fn expected(self, effort: Effort) -> Duration {
        match self {
            Kind::Words => words::expected(effort),
            Kind::Fill => fill::expected(effort),
            Kind::VdsoProposal => proposal::expected(effort),
            Kind::Threads => threads::expected(effort),
            Kind::Go => article::expected(effort),
            Kind::Pipe => pipe::expected(effort),
            Kind::Start => start::expected(effort),
            Kind::Fork => fork::expected(effort),
        }
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
    /// Whether a thread could be bound to a CPU.
    pub pinned: bool,
}

impl Bench<'_> {
    /// Measures workloads of `kind`; none if the run is interrupted.
    pub fn measure(&mut self, kind: Kind) -> Vec<Workload> {
        if self.session.is_interrupted() {
            return Vec::new();
        }
        match kind.is_of_one_thread() {
            true => self.pinned = machine::pin(&self.cpus),
            false => machine::unpin(&self.cpus),
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

/// For requests of one kind.
fn requests(effort: Effort) -> Budget {
    Budget {
        least: effort.choose(3, 5),
        most: effort.choose(7, 61),
        time: effort.choose(Duration::from_millis(120), Duration::from_millis(1000)),
        batch: Batch::Time(BATCH),
    }
}

/// So many rounds of operations that are batches in themselves, however long they take.
fn rounds(count: usize) -> Budget {
    Budget {
        least: count,
        most: count,
        time: Duration::ZERO,
        batch: Batch::Single,
    }
}

/// A workload without figures yet.
fn empty(name: &str, title: &str, operation: &str, axis: &str, kernel: Option<&str>) -> Workload {
    Workload {
        name: name.into(),
        title: title.into(),
        operation: operation.into(),
        axis: axis.into(),
        kernel: kernel.map(Into::into),
        series: Vec::new(),
        failures: Vec::new(),
    }
}

/// The fastest of the ways to the kernel's generator that are here, by name: the vDSO, or else the
/// system call.
pub fn kernel(sources: &[SourceReport]) -> Option<&'static str> {
    let is_there = |name: &&str| {
        let named = sources.iter().find(|source| source.name == *name);
        named.is_some_and(|source| source.state == State::Measured)
    };
    ["vdso", "getrandom"].into_iter().find(is_there)
}
