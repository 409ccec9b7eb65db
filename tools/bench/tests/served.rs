//! A source that is served by a child of ours is as good as one here.

use std::time::Duration;

use squall_bench::remote::Remote;
use squall_bench::source::{Request, Source};

use crate::{child, message};
use squall_testing::suite::Test;
use squall_testing::tests;

pub const TESTS: &[Test] = tests![
    a_child_times_its_source_and_gives_samples,
    a_child_tells_of_errors_and_goes_on,
    a_source_that_is_not_there_says_why,
    a_program_that_is_not_there,
];

fn a_child_times_its_source_and_gives_samples() {
    let mut remote = Remote::start(child::command("getrandom")).unwrap();
    for len in [16, 1 << 20] {
        let mut out = vec![0; len];
        remote.time(Request::Fill(&mut out), 5).unwrap();
    }
    for request in [Request::U32, Request::U64] {
        remote.time(request, 1000).unwrap();
    }
    // More than one piece.
    let mut samples = [vec![0; 3 << 20], vec![0; 3 << 20]];
    for sample in &mut samples {
        remote.sample(sample).unwrap();
        let zeros = sample.iter().filter(|&&byte| byte == 0).count();
        assert!(
            (zeros as f64 / (3 << 12) as f64 - 1.0).abs() < 0.1,
            "{zeros}"
        );
    }
    assert_ne!(samples[0], samples[1]);
}

fn a_child_tells_of_errors_and_goes_on() {
    let mut remote = Remote::start(child::command("idle")).unwrap();
    let mut out = [0; 32];
    let failed = remote.time(Request::Fill(&mut out), 5);
    assert_eq!(message(failed), "a buffer was left as it was");
    let failed = remote.parallel(2, 32, Duration::from_millis(1));
    assert_eq!(
        message(failed.expect("an answer")),
        "no such request: parallel 2 32 1"
    );
    assert!(remote.time(Request::U32, 1000).is_ok());
}

fn a_source_that_is_not_there_says_why() {
    let failed = Remote::start(child::command("missing"));
    assert_eq!(message(failed), "libidle is not installed");
}

fn a_program_that_is_not_there() {
    let failed = Remote::start(std::process::Command::new("/nowhere"));
    assert_eq!(message(failed), "/nowhere: No such file or directory");
}
