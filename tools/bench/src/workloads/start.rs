//! The first 32 bytes of a new process.

use std::time::Duration;

use squall_tools::measure::lanes::{Batch, Budget};

use super::empty;
use crate::candidates::Candidates;
use crate::go::Program;
use crate::measure::{Place, single};
use crate::process::{self, Experiment, NOTHING};
use crate::report::model::{Workload, workload};
use crate::session::{Effort, Session};

/// Who is drawn from.
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

/// Bytes that are drawn.
const LEN: usize = 32;

/// How long it takes.
pub fn expected(effort: Effort) -> Duration {
    effort.choose(Duration::from_millis(700), Duration::from_secs(4))
}

/// Starts processes, and Go's too.
pub fn measure(candidates: &Candidates, session: &mut Session, go: Option<&Program>) -> Workload {
    let effort = session.effort;
    let (title, kernel) = ("The first 32 bytes of a new process", Some("getrandom"));
    let mut workload = empty(workload::START, title, "a process", "bytes", kernel);
    session.step(title, expected(effort));
    let mut lanes = process::lanes(Experiment::FirstBytes, &SOURCES, LEN);
    if let Some(go) = go {
        lanes.push(single("go-crypto-rand", || go.first("crypto")));
    }
    let lanes = candidates.choose(lanes);
    let budget = Budget {
        least: effort.choose(11, 51),
        most: effort.choose(31, 301),
        time: expected(effort),
        batch: Batch::Single,
    };
    let at = LEN as u64;
    workload.measure(Place { at, bytes: at }, lanes, budget, session);
    workload
}
