//! The experiment of the proposal of a vDSO getrandom (Y. Droneaud, RFC to linux-kernel, January
//! 2023): 16,777,216 numbers below 2^32, and how many bytes pools threw away meanwhile.
//!
//! Its four rows are the system call, the vDSO, and a pool over each. They take turns, a sixteenth
//! of the numbers a round. What the proposal calls the vDSO was its system call still: the vDSO got
//! a generator of its own with Linux 6.11.

use std::cell::RefCell;
use std::collections::BTreeMap;

use squall_tools::measure::contest::Batch;

use super::Bench;
use super::plan::{Expected, rounds};
use crate::measure::Place;
use crate::report::model::{Workload, workload};
use crate::source::Request;
use crate::sources;

/// The proposal's rows, and what they are compared with.
const SOURCES: [&str; 7] = [
    "getrandom",
    "vdso",
    "pool-syscall",
    "pool-vdso",
    "squall",
    "arc4random",
    "thread-rng",
];

const ROUNDS: usize = 16;

pub const EXPECTED: Expected = Expected(1200, 9000);

/// Draws the numbers; in a quick run a sixteenth of them.
pub fn measure(bench: &mut Bench) -> Vec<Workload> {
    let session = &mut bench.session;
    let calls: u64 = session.effort.choose(1 << 16, 1 << 20);
    let numbers = calls * ROUNDS as u64;
    let title = format!("{numbers} numbers (u32), as in the proposal of a vDSO getrandom");
    let kernel = bench.candidates.kernel();
    let mut workload = Workload::new(workload::PROPOSAL, &title, "a number", "bytes", kernel);
    session.step("the vDSO proposal's numbers", EXPECTED.of(session.effort));
    let discarded = RefCell::new(BTreeMap::new());
    bench.candidates.measure(
        &mut workload,
        Place::of_bytes(4),
        rounds(ROUNDS, Batch::Calls(calls)),
        session,
        |entry| SOURCES.contains(&entry.name),
        |entry, source, calls| {
            let before = sources::discarded(entry.name);
            let ns = source.time(Request::U32, calls);
            if let Some((after, before)) = sources::discarded(entry.name).zip(before) {
                let mut discarded = discarded.borrow_mut();
                let batches: &mut Vec<u64> = discarded.entry(entry.name).or_default();
                batches.push(after - before);
            }
            ns
        },
    );
    for series in &mut workload.series {
        // The first batch warms up, and is not counted.
        let discarded = discarded.borrow();
        let batches = discarded.get(series.source.as_str());
        let sum = batches.map(|batches| batches.iter().skip(1).sum());
        series
            .points
            .iter_mut()
            .for_each(|point| point.discarded = sum);
    }
    vec![workload]
}
