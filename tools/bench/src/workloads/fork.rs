//! Forks of a process that has drawn, of children that draw and that do not.

use std::time::Duration;

use squall_tools::measure::lanes::{Batch, Budget};

use super::empty;
use crate::candidates::Candidates;
use crate::measure::Place;
use crate::process::{self, Experiment, NOTHING};
use crate::report::model::{Workload, workload};
use crate::session::{Effort, Session};

/// Who has drawn before the fork.
const SOURCES: [&str; 5] = [NOTHING, "squall", "getrandom", "thread-rng", "openssl-rand"];

/// How long it takes.
pub fn expected(effort: Effort) -> Duration {
    effort.choose(Duration::from_millis(700), Duration::from_secs(4))
}

/// Measures both kinds of children. What counts is the fork, so bytes say nothing.
pub fn measure(candidates: &Candidates, session: &mut Session) -> Workload {
    let effort = session.effort;
    let title = "A fork of a process that has drawn, by the bytes that the child draws";
    let mut workload = empty(workload::FORK, title, "a fork", "bytes", Some("getrandom"));
    session.step(title, expected(effort));
    let budget = Budget {
        least: effort.choose(3, 9),
        most: effort.choose(5, 31),
        time: expected(effort) / 2,
        batch: Batch::Single,
    };
    for drawn in [0, 32] {
        let lanes = candidates.choose(process::lanes(Experiment::Forks, &SOURCES, drawn));
        let at = drawn as u64;
        workload.measure(Place { at, bytes: 0 }, lanes, budget, session);
    }
    workload
}
