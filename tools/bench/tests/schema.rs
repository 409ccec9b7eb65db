//! The schema of `--json`: it takes a report, and nothing that lacks a key or has one of a wrong
//! kind; it knows every key, and no other.

use serde_json::{Value, json};
use squall_bench::report::model::Report;
use squall_testing::schema::Schema;

use crate::fixture::fixture;
use squall_testing::suite::Test;
use squall_testing::tests;

pub const TESTS: &[Test] = tests![
    it_describes_a_report_exactly,
    values_that_cannot_be_are_noticed,
];

/// Keys that may be left out.
const OPTIONAL: [&str; 2] = ["discarded", "failures"];

fn schema() -> Schema {
    Schema::derive::<Report>()
}

fn report() -> Value {
    serde_json::to_value(fixture()).expect("JSON")
}

fn it_describes_a_report_exactly() {
    let removed = schema().check(&[report()], &OPTIONAL);
    assert!(removed > 50, "{removed}");
}

fn values_that_cannot_be_are_noticed() {
    let schema = schema();
    for (place, wrong) in [
        ("/schema", json!(2)),
        ("/date", json!("22 November 2026")),
        ("/effort", json!("huge")),
        ("/machine/cpus", json!(0)),
        ("/sources/0/group", json!("kernels")),
        ("/sources/0/state", json!("unknown")),
        ("/workloads/0/series/0/points/0/ns/median", json!(-1.0)),
        ("/workloads/0/series/0/points/0/ns/samples", json!([])),
        ("/workloads/0/series/0/points/0/at", json!(1.5)),
    ] {
        let report = with(place, |value| *value = wrong.clone());
        assert!(!schema.takes(&report), "{place}: {wrong}");
    }
}

/// The report with what is at `place` changed.
fn with(place: &str, change: impl FnOnce(&mut Value)) -> Value {
    let mut report = report();
    change(report.pointer_mut(place).expect("a place of the report"));
    report
}
