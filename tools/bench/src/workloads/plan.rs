//! What workloads have in common: how long they take, and how they begin.

use std::time::Duration;

use squall_tools::measure::BATCH;
use squall_tools::measure::contest::{Batch, Budget};

use crate::report::model::{SourceReport, State, Workload};
use crate::session::Effort;

/// How many milliseconds a workload takes, about: in a quick run, and in a full one.
#[derive(Clone, Copy)]
pub struct Expected(pub u64, pub u64);

impl Expected {
    pub fn of(self, effort: Effort) -> Duration {
        Duration::from_millis(effort.choose(self.0, self.1))
    }
}

pub fn requests(effort: Effort) -> Budget {
    Budget {
        least: effort.choose(3, 5),
        most: effort.choose(7, 61),
        time: effort.choose(Duration::from_millis(120), Duration::from_millis(1000)),
        batch: Batch::Time(BATCH),
    }
}

/// This many rounds of operations that are batches in themselves, however long they take.
pub fn rounds(count: usize) -> Budget {
    Budget {
        least: count,
        most: count,
        time: Duration::ZERO,
        batch: Batch::Single,
    }
}

/// A workload without figures yet.
pub fn empty(
    name: &str,
    title: &str,
    operation: &str,
    axis: &str,
    kernel: Option<&str>,
) -> Workload {
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
