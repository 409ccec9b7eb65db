//! Blocks through a pipe, as by dd.

use squall_tools::measure::contest::Batch;
use squall_tools::units;

use super::Bench;
use super::plan::{Expected, rounds};
use crate::measure::Place;
use crate::process::pipe;
use crate::report::model::{Workload, workload};
use crate::source::NOTHING;

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
pub fn measure(bench: &mut Bench) -> Vec<Workload> {
    let session = &mut bench.session;
    let effort = session.effort;
    let (title, kernel) = ("Blocks through a pipe", Some("dd-urandom"));
    let mut workload = Workload::new(workload::PIPE, title, "a block", "bytes", kernel);
    let lengths = effort.choose(&[64 << 10][..], &pipe::LENGTHS);
    let bytes = effort.choose(4 << 20, 12 << 20);
    for &len in lengths {
        let place = Place::of_bytes(len as u64);
        let step = format!("blocks of {} through a pipe", units::length(place.at));
        session.step(&step, EXPECTED.of(effort) / lengths.len() as u32);
        let mut contestants = pipe::contestants(&WRITERS, len, bytes);
        contestants.extend(pipe::program_contestants(len, bytes));
        let budget = rounds(effort.choose(3, 5), Batch::Single);
        let candidates = &bench.candidates;
        candidates.contest(&mut workload, place, budget, session, contestants);
    }
    vec![workload]
}
