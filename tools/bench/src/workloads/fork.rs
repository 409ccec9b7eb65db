//! Forks of a process that has drawn, of children that draw and that do not.

use squall_tools::measure::contest::{Batch, Budget};

use super::Bench;
use super::plan::Expected;
use crate::child::Work;
use crate::measure::Place;
use crate::process;
use crate::report::model::{Workload, workload};
use crate::source::NOTHING;

const SOURCES: [&str; 5] = [NOTHING, "squall", "getrandom", "thread-rng", "openssl-rand"];

pub const EXPECTED: Expected = Expected(700, 4000);

/// Measures both kinds of children. What counts is the fork, so bytes say nothing.
pub fn measure(bench: &mut Bench) -> Vec<Workload> {
    let session = &mut bench.session;
    let effort = session.effort;
    let title = "A fork of a process that has drawn, by the bytes that the child draws";
    let kernel = Some("getrandom");
    let mut workload = Workload::new(workload::FORK, title, "a fork", "bytes", kernel);
    session.step(title, EXPECTED.of(effort));
    let budget = Budget {
        least: effort.choose(3, 9),
        most: effort.choose(5, 31),
        time: EXPECTED.of(effort) / 2,
        batch: Batch::Single,
    };
    for (at, drawn) in [(0, 0), (32, 32)] {
        let contestants = process::contestants(Work::Forks, &SOURCES, drawn);
        let place = Place { at, bytes: 0 };
        let candidates = &bench.candidates;
        candidates.contest(&mut workload, place, budget, session, contestants);
    }
    vec![workload]
}
