//! Blocks through a pipe, as by dd.

use super::plan::{Expected, empty, rounds};
use crate::candidates::Candidates;
use crate::measure::Place;
use crate::process::{NOTHING, pipe};
use crate::report::model::{Workload, workload};
use crate::session::Session;
use squall_tools::units;

/// What is written block by block; `nothing` writes the same block again.
const WRITERS: [&str; 6] = [
    NOTHING,
    "squall",
    "urandom",
    "getrandom",
    "thread-rng",
    "openssl-rand",
];

pub const EXPECTED: Expected = Expected(1200, 8000);

/// Measures every length of blocks; in a quick run one of them.
pub fn measure(candidates: &Candidates, session: &mut Session) -> Workload {
    let effort = session.effort;
    let (title, kernel) = ("Blocks through a pipe", Some("dd-urandom"));
    let mut workload = empty(workload::PIPE, title, "a block", "bytes", kernel);
    let lengths = effort.choose(&[64 << 10][..], &pipe::LENGTHS);
    let bytes = effort.choose(4 << 20, 12 << 20);
    for &len in lengths {
        let at = len as u64;
        let step = format!("blocks of {} through a pipe", units::length(at));
        session.step(&step, EXPECTED.of(effort) / lengths.len() as u32);
        let mut contestants = pipe::contestants(&WRITERS, len, bytes);
        contestants.extend(pipe::program_contestants(len, bytes));
        let contestants = candidates.choose(contestants);
        let budget = rounds(effort.choose(3, 5));
        workload.measure(Place { at, bytes: at }, contestants, budget, session);
    }
    workload
}
