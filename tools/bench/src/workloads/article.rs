//! The two programs of "Locking in crypto/rand", in Go and in Rust.

use std::time::Duration;

use super::plan::{Expected, empty, rounds};
use crate::article::{READ, VALUES, pipeline_contestants, rate_contestants};
use crate::candidates::Candidates;
use crate::go::Program;
use crate::measure::Place;
use crate::report::model::{Workload, workload};
use crate::session::Session;

pub const EXPECTED: Expected = Expected(1500, 45000);

pub fn measure(
    candidates: &Candidates,
    session: &mut Session,
    go: Option<&Program>,
) -> [Workload; 2] {
    const ARTICLE: &str = "from \"Locking in crypto/rand\"";
    let (effort, kernel) = (session.effort, Some("getrandom"));
    // A fiftieth of the article's strings.
    let title = format!("Ten that make strings and ten that take them, {ARTICLE}");
    let mut pipeline = empty(workload::PIPELINE, &title, "a string", "threads", kernel);
    session.step("the Go article's first program", EXPECTED.of(effort) / 9);
    let contestants = candidates.choose(pipeline_contestants(go, effort.choose(500, VALUES / 50)));
    let place = Place { at: 10, bytes: 0 };
    pipeline.measure(place, contestants, rounds(effort.choose(3, 5)), session);

    let seconds = effort.choose("half a second", "ten seconds");
    let title = format!("Reads of {READ} bytes for {seconds}, {ARTICLE}");
    let mut rate = empty(workload::RATE, &title, "a read", "bytes", kernel);
    session.step(
        "the Go article's second program",
        EXPECTED.of(effort) * 8 / 9,
    );
    let slice = effort.choose(Duration::from_millis(50), Duration::from_secs(1));
    let mut contestants = candidates.choose(rate_contestants(go, slice));
    // It shows what its lock costs in the first program, and nothing here.
    contestants.retain(|contestant| contestant.name != "go-math-rand-v1");
    let (at, bytes) = (READ, READ);
    rate.measure(Place { at, bytes }, contestants, rounds(10), session);
    [pipeline, rate]
}
