//! Forks of a process that has drawn, of children that draw and that do not.

use squall_tools::measure::contest::{Batch, Budget};

use super::plan::{Expected, empty};
use crate::candidates::Candidates;
use crate::measure::Place;
use crate::process::{self, Experiment, NOTHING};
use crate::report::model::{Workload, workload};
use crate::session::Session;

const SOURCES: [&str; 5] = [NOTHING, "squall", "getrandom", "thread-rng", "openssl-rand"];

pub const EXPECTED: Expected = Expected(700, 4000);

/// Measures both kinds of children. What counts is the fork, so bytes say nothing.
pub fn measure(candidates: &Candidates, session: &mut Session) -> Workload {
    let effort = session.effort;
    let title = "A fork of a process that has drawn, by the bytes that the child draws";
    let mut workload = empty(workload::FORK, title, "a fork", "bytes", Some("getrandom"));
    session.step(title, EXPECTED.of(effort));
    let budget = Budget {
        least: effort.choose(3, 9),
        most: effort.choose(5, 31),
        time: EXPECTED.of(effort) / 2,
        batch: Batch::Single,
    };
    for drawn in [0, 32] {
        let contestants =
            candidates.choose(process::contestants(Experiment::Forks, &SOURCES, drawn));
        let at = drawn as u64;
        workload.measure(Place { at, bytes: 0 }, contestants, budget, session);
    }
    workload
}
