//! The article's two programs, in Go and in Rust.

use std::thread::available_parallelism;
use std::time::Duration;

use squall_bench::article::{pipeline_lanes, rate_lanes};
use squall_tools::measure::lanes::Lane;

use super::go;

const OURS: [&str; 2] = ["squall", "getrandom"];
const GO: [&str; 3] = ["go-crypto-rand", "go-math-rand", "go-math-rand-v1"];

/// Medians of five rounds, in turns.
fn medians(lanes: &mut [Lane]) -> Vec<f64> {
    let mut times = vec![Vec::new(); lanes.len()];
    for _ in 0..5 {
        for (lane, times) in lanes.iter_mut().zip(&mut times) {
            times.push((lane.batch)(1).unwrap());
        }
    }
    let median = |mut times: Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    };
    times.into_iter().map(median).collect()
}

fn names<'a>(lanes: &'a [Lane]) -> Vec<&'a str> {
    lanes.iter().map(|lane| &*lane.name).collect()
}

#[test]
fn strings_in_rust_take_a_plausible_time() {
    let mut lanes = pipeline_lanes(None, 2000);
    assert_eq!(names(&lanes), OURS);
    for ns in medians(&mut lanes) {
        // Five kilobytes are made and handed over: neither in a nanosecond nor in a second.
        assert!((100.0..1e7).contains(&ns), "{ns} ns a string");
    }
}

/// The kernel is no faster than what squall makes of it, through a buffer either.
#[test]
fn reads_in_rust_take_less_by_squall() {
    let mut lanes = rate_lanes(None, Duration::from_millis(30));
    assert_eq!(names(&lanes), OURS);
    let times = medians(&mut lanes);
    assert!(times.iter().all(|ns| (1.0..1e5).contains(ns)), "{times:?}");
    assert!(
        times[0] < times[1],
        "squall {} ns, getrandom {} ns",
        times[0],
        times[1]
    );
}

#[test]
fn go_takes_a_plausible_time_too() {
    let Some(go) = go() else { return };
    let mut lanes = rate_lanes(Some(&go), Duration::from_millis(30));
    assert_eq!(names(&lanes), [&OURS[..], &GO].concat());
    let times = medians(&mut lanes);
    assert!(times.iter().all(|ns| (1.0..1e5).contains(ns)), "{times:?}");
}

/// What the article is about: ten who share one lock are slower than ten who do not. All draw each
/// letter on its own, so that there is nothing else to tell them apart.
#[test]
fn one_lock_for_all_is_slower_than_none() {
    let Some(go) = go() else { return };
    if available_parallelism().unwrap().get() < 2 {
        println!("SKIP: nobody waits for a lock on one CPU");
        return;
    }
    let mut lanes = pipeline_lanes(Some(&go), 2000);
    assert_eq!(names(&lanes), [&OURS[..], &GO].concat());
    let times = medians(&mut lanes);
    assert!(
        times.iter().all(|ns| (100.0..1e8).contains(ns)),
        "{times:?}"
    );
    let [free, locked] = [times[3], times[4]];
    assert!(
        locked > free,
        "{locked} ns with the lock, {free} ns without"
    );
}
