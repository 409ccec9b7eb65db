//! The workloads `words` and `fill`, on one thread: numbers, and buffers of 1 byte to 256 MiB, with the lengths of
//! `openssl speed` among them. Only fast sources get more than 16 MiB.

use std::cell::RefCell;

use super::{Bench, Expected, many_rounds};
use crate::candidates::Place;
use crate::report::model::{Workload, workload};
use crate::source::Request;

pub const WORDS_EXPECTED: Expected = Expected(600, 2400);

pub fn measure_words(bench: &mut Bench) -> Vec<Workload> {
    let session = &mut bench.session;
    let kernel = bench.candidates.kernel();
    let mut workload = Workload::new(workload::WORDS, "One number", "a number", "bytes", kernel);
    session.step("numbers", WORDS_EXPECTED.of(session.effort));
    for bytes in [4, 8] {
        let request = || match bytes {
            4 => Request::U32,
            _ => Request::U64,
        };
        bench.candidates.measure(
            &mut workload,
            Place { at: bytes, bytes },
            many_rounds(session.effort),
            session,
            |_| true,
            |_, source, calls| source.time(request(), calls),
        );
    }
    vec![workload]
}

/// Lengths in bytes, as powers of two. `openssl speed` has 16, 64, 256, 1024, 8192 and 16384.
const LENGTHS: [u32; 14] = [0, 3, 4, 5, 6, 8, 10, 12, 13, 14, 16, 20, 24, 28];
const QUICK_LENGTHS: [u32; 8] = [4, 5, 6, 8, 10, 13, 14, 20];

/// The longest request that is measured of all.
const LONG: u64 = 16 << 20;

/// A source that takes no longer than this for a byte of a long request, in nanoseconds, is asked for longer
/// ones too: the others show nothing new there, and take seconds.
const FAST: f64 = 0.4;

pub const FILL_EXPECTED: Expected = Expected(4000, 24000);

pub fn measure_fill(bench: &mut Bench) -> Vec<Workload> {
    let session = &mut bench.session;
    let title = "Requests by their length";
    let kernel = bench.candidates.kernel();
    let mut workload = Workload::new(workload::FILL, title, "a request", "bytes", kernel);
    let lengths = session.effort.choose(&QUICK_LENGTHS[..], &LENGTHS);
    for len in lengths.iter().map(|&power| 1 << power) {
        let expected = FILL_EXPECTED.of(session.effort) / lengths.len() as u32;
        session.step(&format!("requests of {len} bytes"), expected);
        let mut budget = many_rounds(session.effort);
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

/// The sources that are fast with long requests.
fn fast(workload: &Workload) -> Vec<String> {
    let is_fast = |source: &str| {
        let point = workload.point(source, LONG);
        point.is_some_and(|point| point.ns.median < FAST * LONG as f64)
    };
    let names = workload.series.iter().map(|series| series.source.clone());
    names.filter(|name| is_fast(name)).collect()
}
