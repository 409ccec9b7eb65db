//! The Go article's two programs, in Go and in Rust.

use std::time::Duration;

use squall_bench::article::{pipeline_contestants, rate_contestants};
use squall_testing::suite::Test;
use squall_testing::tests;
use squall_tools::measure::contest::Contestant;

use crate::{GO, TEST_ALL, go};

pub const TESTS: &[Test] = tests![programs_in_rust_run, programs_in_go_run: [TEST_ALL, GO]];

const OURS: [&str; 2] = ["squall", "getrandom"];
const GOS: [&str; 3] = ["go-crypto-rand", "go-math-rand", "go-math-rand-v1"];

/// Each runs, and checks its strings itself.
#[track_caller]
fn run(mut contestants: Vec<Contestant>, names: &[&str]) {
    let found: Vec<&str> = contestants
        .iter()
        .map(|contestant| &*contestant.name)
        .collect();
    assert_eq!(found, names);
    for contestant in &mut contestants {
        let ns = (contestant.batch)(1).expect("it runs");
        assert!(ns > 0.0, "{}: {ns}", contestant.name);
    }
}

fn programs_in_rust_run() {
    run(pipeline_contestants(None, 2000), &OURS);
    run(rate_contestants(None, Duration::from_millis(30)), &OURS);
}

fn programs_in_go_run() {
    let (go, all) = (go(), [&OURS[..], &GOS].concat());
    run(pipeline_contestants(Some(&go), 2000), &all);
    let of_rate = &all[..all.len() - 1];
    run(
        rate_contestants(Some(&go), Duration::from_millis(30)),
        of_rate,
    );
}
