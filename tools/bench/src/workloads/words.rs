//! Numbers: one `u32`, one `u64`.

use super::Bench;
use super::plan::{Expected, requests};
use crate::measure::Place;
use crate::report::model::{Workload, workload};
use crate::source::Request;

pub const EXPECTED: Expected = Expected(600, 2400);

pub fn measure(bench: &mut Bench) -> Vec<Workload> {
    let session = &mut bench.session;
    let kernel = bench.candidates.kernel();
    let mut workload = Workload::new(workload::WORDS, "One number", "a number", "bytes", kernel);
    session.step("numbers", EXPECTED.of(session.effort));
    for bytes in [4, 8] {
        let request = || match bytes {
            4 => Request::U32,
            _ => Request::U64,
        };
        bench.candidates.measure(
            &mut workload,
            Place { at: bytes, bytes },
            requests(session.effort),
            session,
            |_| true,
            |_, source, calls| source.time(request(), calls),
        );
    }
    vec![workload]
}
