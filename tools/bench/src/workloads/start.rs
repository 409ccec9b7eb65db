//! The first 32 bytes of a new process.

use squall_tools::measure::contest::{Batch, Budget};

use super::Bench;
use super::plan::Expected;
use crate::child::Work;
use crate::measure::{Place, single};
use crate::process;
use crate::report::model::{Workload, workload};
use crate::source::NOTHING;

const SOURCES: [&str; 9] = [
    NOTHING,
    "squall",
    "getrandom",
    "vdso",
    "urandom",
    "thread-rng",
    "openssl-rand",
    "libsodium",
    "arc4random",
];

const LEN: usize = 32;

pub const EXPECTED: Expected = Expected(700, 4000);

/// Starts processes, and Go's too.
pub fn measure(bench: &mut Bench) -> Vec<Workload> {
    let session = &mut bench.session;
    let effort = session.effort;
    let (title, kernel) = ("The first 32 bytes of a new process", Some("getrandom"));
    let mut workload = Workload::new(workload::START, title, "a process", "bytes", kernel);
    session.step(title, EXPECTED.of(effort));
    let mut contestants = process::contestants(Work::FirstBytes, &SOURCES, LEN);
    if let Some(go) = bench.go {
        contestants.push(single("go-crypto-rand", || go.first("crypto")));
    }
    let budget = Budget {
        least: effort.choose(11, 51),
        most: effort.choose(31, 301),
        time: EXPECTED.of(effort),
        batch: Batch::Single,
    };
    let place = Place::of_bytes(LEN as u64);
    let candidates = &bench.candidates;
    candidates.contest(&mut workload, place, budget, session, contestants);
    vec![workload]
}
