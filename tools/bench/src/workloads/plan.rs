//! What workloads have in common: how long they take, and how they begin.

use std::time::Duration;

use squall_tools::measure::BATCH;
use squall_tools::measure::contest::{Batch, Budget};

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
        time: Duration::from_millis(effort.choose(120, 1000)),
        batch: Batch::Time(BATCH),
    }
}

/// This many rounds of batches, however long they take.
pub fn rounds(count: usize, batch: Batch) -> Budget {
    Budget {
        least: count,
        most: count,
        time: Duration::ZERO,
        batch,
    }
}
