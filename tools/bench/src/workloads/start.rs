//! The first 32 bytes of a new process.

use squall_tools::measure::contest::{Batch, Budget};

use super::plan::{Expected, empty};
use crate::candidates::Candidates;
use crate::go::Program;
use crate::measure::{Place, single};
use crate::process::{self, Experiment, NOTHING};
use crate::report::model::{Workload, workload};
use crate::session::Session;

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
pub fn measure(candidates: &Candidates, session: &mut Session, go: Option<&Program>) -> Workload {
    let effort = session.effort;
    let (title, kernel) = ("The first 32 bytes of a new process", Some("getrandom"));
    let mut workload = empty(workload::START, title, "a process", "bytes", kernel);
    session.step(title, EXPECTED.of(effort));
    let mut contestants = process::contestants(Experiment::FirstBytes, &SOURCES, LEN);
    if let Some(go) = go {
        contestants.push(single("go-crypto-rand", || go.first("crypto")));
    }
    let contestants = candidates.choose(contestants);
    let budget = Budget {
        least: effort.choose(11, 51),
        most: effort.choose(31, 301),
        time: EXPECTED.of(effort),
        batch: Batch::Single,
    };
    let at = LEN as u64;
    workload.measure(Place { at, bytes: at }, contestants, budget, session);
    workload
}
