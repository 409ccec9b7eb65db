//! A source that is served by a child of ours is as good as one here.

use std::time::Duration;

use squall_bench::remote::Remote;
use squall_bench::source::{Request, Source};

use super::{child, words};

#[test]
fn a_child_times_its_source_and_gives_samples() {
    let mut remote = Remote::start(child::command("getrandom")).unwrap();
    let mut times = [16, 1 << 20].map(|len| {
        let mut out = vec![0; len];
        remote.time(Request::Fill(&mut out), 5).unwrap()
    });
    times[1] /= 10.0;
    assert!(times[1] > times[0], "{times:?}");
    for request in [Request::U32, Request::U64] {
        let ns = remote.time(request, 1000).unwrap();
        assert!((1.0..1e6).contains(&ns), "{ns}");
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

#[test]
fn a_child_tells_of_errors_and_goes_on() {
    let mut remote = Remote::start(child::command("idle")).unwrap();
    let mut out = [0; 32];
    let failed = remote.time(Request::Fill(&mut out), 5);
    assert_eq!(words(failed), "a buffer was left as it was");
    let failed = remote.parallel(2, 32, Duration::from_millis(1));
    assert_eq!(words(failed), "no such request: parallel 2 32 1");
    assert!(remote.time(Request::U32, 1000).is_ok());
}

#[test]
fn a_source_that_is_not_there_says_why() {
    let failed = Remote::start(child::command("missing"));
    assert_eq!(words(failed), "libidle is not installed");
}

#[test]
fn a_program_that_is_not_there() {
    let failed = Remote::start(std::process::Command::new("/nowhere"));
    assert_eq!(words(failed), "/nowhere: No such file or directory");
}
