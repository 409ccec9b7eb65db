//! Requests by their length, from a byte to 16 MiB; `openssl speed`'s lengths are among them.

use std::cell::RefCell;

use super::Bench;
use super::plan::{Expected, requests};
use crate::measure::Place;
use crate::report::model::{Workload, workload};
use crate::source::Request;

/// Lengths in bytes, as powers of two. `openssl speed` has 16, 64, 256, 1024, 8192 and 16384.
const LENGTHS: [u32; 14] = [0, 3, 4, 5, 6, 8, 10, 12, 13, 14, 16, 20, 24, 28];
const QUICK_LENGTHS: [u32; 8] = [4, 5, 6, 8, 10, 13, 14, 20];

/// The longest request that is measured of all.
const LONG: u64 = 16 << 20;

/// Who takes no longer than this for a byte of a long request is asked for longer ones too, in
/// nanoseconds: others show nothing new there, and take seconds.
const FAST: f64 = 0.4;

pub const EXPECTED: Expected = Expected(4000, 24000);

pub fn measure(bench: &mut Bench) -> Vec<Workload> {
    let session = &mut bench.session;
    let title = "Requests by their length";
    let kernel = bench.candidates.kernel();
    let mut workload = Workload::new(workload::FILL, title, "a request", "bytes", kernel);
    let lengths = session.effort.choose(&QUICK_LENGTHS[..], &LENGTHS);
    for len in lengths.iter().map(|&power| 1 << power) {
        let expected = EXPECTED.of(session.effort) / lengths.len() as u32;
        session.step(&format!("requests of {len} bytes"), expected);
        let mut budget = requests(session.effort);
        if len >= LONG {
            budget.least = 3;
        }
        let fast = fast(&workload);
        // Not zero, or its pages would be mapped while the first source is timed.
        let buffer = RefCell::new(vec![1; len as usize]);
        bench.candidates.measure(
            &mut workload,
            Place::of_bytes(len),
            budget,
            session,
            |entry| len <= LONG || fast.iter().any(|name| name == entry.name),
            |_, source, calls| source.time(Request::Fill(&mut buffer.borrow_mut()), calls),
        );
    }
    vec![workload]
}

/// Who is fast with long requests.
fn fast(workload: &Workload) -> Vec<String> {
    let is_fast = |source: &str| {
        let point = workload.point(source, LONG);
        point.is_some_and(|point| point.ns.median < FAST * LONG as f64)
    };
    let names = workload.series.iter().map(|series| series.source.clone());
    names.filter(|name| is_fast(name)).collect()
}
