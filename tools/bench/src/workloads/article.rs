//! The two programs of "Locking in crypto/rand", in Go and in Rust.

use std::time::Duration;

use super::{empty, rounds};
use crate::article::{READ, VALUES, pipeline_lanes, rate_lanes};
use crate::candidates::Candidates;
use crate::go::Program;
use crate::measure::Place;
use crate::report::model::{Workload, workload};
use crate::session::{Effort, Session};

const ARTICLE: &str = "\"Locking in crypto/rand\"";

/// The first math/rand is there for its lock, which the first program shows.
const LOCKED: &str = "go-math-rand-v1";

/// How long both take.
pub fn expected(effort: Effort) -> Duration {
    effort.choose(Duration::from_millis(1500), Duration::from_secs(45))
}

/// Measures both.
pub fn measure(
    candidates: &Candidates,
    session: &mut Session,
    go: Option<&Program>,
) -> [Workload; 2] {
    [
        pipeline(candidates, session, go),
        rate(candidates, session, go),
    ]
}

/// Ten that make strings and ten that take them: a fiftieth of the article's.
fn pipeline(candidates: &Candidates, session: &mut Session, go: Option<&Program>) -> Workload {
    let title = format!("Ten that make strings and ten that take them, from {ARTICLE}");
    let kernel = Some("getrandom");
    let mut workload = empty(workload::PIPELINE, &title, "a string", "threads", kernel);
    let effort = session.effort;
    session.step("the Go article's first program", expected(effort) / 9);
    let lanes = pipeline_lanes(go, effort.choose(500, VALUES / 50));
    let place = Place { at: 10, bytes: 0 };
    let lanes = candidates.choose(lanes);
    workload.measure(place, lanes, rounds(effort.choose(3, 5)), session);
    workload
}

/// As many reads as there is time for, in ten slices.
fn rate(candidates: &Candidates, session: &mut Session, go: Option<&Program>) -> Workload {
    let effort = session.effort;
    let seconds = effort.choose("half a second", "ten seconds");
    let title = format!("Reads of {READ} bytes for {seconds}, from {ARTICLE}");
    let kernel = Some("getrandom");
    let mut workload = empty(workload::RATE, &title, "a read", "bytes", kernel);
    session.step("the Go article's second program", expected(effort) * 8 / 9);
    let slice = effort.choose(Duration::from_millis(50), Duration::from_secs(1));
    let lanes = rate_lanes(go, slice).into_iter();
    let lanes = lanes.filter(|lane| lane.name != LOCKED).collect();
    let lanes = candidates.choose(lanes);
    let place = Place {
        at: READ,
        bytes: READ,
    };
    workload.measure(place, lanes, rounds(10), session);
    workload
}
