//! What sources are asked to do: a file for each kind of experiment.

pub mod pipe;
pub mod processes;
mod requests;
mod threads;

use std::time::Duration;

use clap::ValueEnum;
use squall_tool_base::measure::BATCH;
use squall_tool_base::measure::contest::{Batch, Budget};

use crate::candidates::Candidates;
use crate::go::Program;
use crate::machine;
use crate::report::model::Workload;
use crate::session::{Effort, Session};

/// A kind of workload, as it is named on the command line; in the order of reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// One u32, one u64
    Words,
    /// Requests by their length
    Fill,
    /// One thread and more of them
    Threads,
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
            Kind::Words => (requests::WORDS_EXPECTED, requests::measure_words),
            Kind::Fill => (requests::FILL_EXPECTED, requests::measure_fill),
            Kind::Threads => (threads::EXPECTED, threads::measure),
            Kind::Pipe => (pipe::EXPECTED, pipe::measure),
            Kind::Start => (processes::EXPECTED, processes::measure_starts),
            Kind::Fork => (processes::EXPECTED, processes::measure_forks),
        }
    }

    /// Whether it is about one thread, which is best alone on a CPU.
    fn is_of_one_thread(self) -> bool {
        !matches!(self, Kind::Threads | Kind::Pipe)
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

/// How many milliseconds a workload takes, about: in a quick run, and in a full one.
#[derive(Clone, Copy)]
pub struct Expected(u64, u64);

impl Expected {
    pub fn of(self, effort: Effort) -> Duration {
        Duration::from_millis(effort.choose(self.0, self.1))
    }
}

fn many_rounds(effort: Effort) -> Budget {
    Budget {
        least: effort.choose(3, 5),
        most: effort.choose(7, 61),
        time: Duration::from_millis(effort.choose(120, 1000)),
        batch: Batch::Time(BATCH),
    }
}

/// This many rounds of batches, however long they take.
fn rounds(count: usize, batch: Batch) -> Budget {
    Budget {
        least: count,
        most: count,
        time: Duration::ZERO,
        batch,
    }
}
