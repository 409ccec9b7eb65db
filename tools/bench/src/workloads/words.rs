//! Numbers: one `u32`, one `u64`.

use super::plan::{Expected, empty, kernel, requests};
use crate::candidates::Candidates;
use crate::measure::Place;
use crate::report::model::{Workload, workload};
use crate::session::Session;
use crate::source::Request;

pub const EXPECTED: Expected = Expected(600, 2400);

pub fn measure(candidates: &mut Candidates, session: &mut Session) -> Workload {
    let kernel = kernel(&candidates.reports());
    let mut workload = empty(workload::WORDS, "One number", "a number", "bytes", kernel);
    session.step("numbers", EXPECTED.of(session.effort));
    for bytes in [4, 8] {
        let request = || match bytes {
            4 => Request::U32,
            _ => Request::U64,
        };
        candidates.measure(
            &mut workload,
            Place { at: bytes, bytes },
            requests(session.effort),
            session,
            |_| true,
            |_, source, calls| source.time(request(), calls),
        );
    }
    workload
}
