//! Sources that are served by a child of ours are as good as those here; and children that do not do what they should:
//! each becomes a clear failure, and none is left.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use squall_bench::remote::Remote;
use squall_bench::source::{Request, Source};
use squall_testing::suite::Test;
use squall_testing::tests;
use squall_tool_base::Failure;

use crate::message;
use crate::{child, is_alive, wait_until};

pub const TESTS: &[Test] = tests![
    one_that_hangs_is_ended_with_all_that_it_has_started,
    one_that_takes_its_time_is_waited_for,
    one_that_dies_is_reported_with_its_last_words,
    one_that_talks_nonsense_is_ended,
    a_sample_is_neither_shorter_nor_longer,
    none_is_left_when_it_is_dropped,
    a_child_of_ours_ends_with_its_input,
    a_child_times_its_source_and_gives_samples,
    a_child_reports_errors_and_goes_on,
    what_is_not_there_is_named,
];

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

/// A child that does `script` when it is asked.
fn start(script: &str, timeout: Duration) -> Result<Remote, Failure> {
    let script = format!("echo ready; read request; {script}");
    Remote::start_within(shell(&script), timeout)
}

/// What a child that does `script` when it is asked makes of a request for a time.
fn asked(script: &str) -> (Remote, Result<f64, Failure>) {
    let mut remote = start(script, LONG).unwrap();
    let answer = remote.time(Request::U32, 1);
    (remote, answer)
}

const LONG: Duration = Duration::from_secs(300);

/// What `attempt` returns at the first time limit at which it returns something: how long a shell takes to start and to
/// hang depends on the machine.
fn within_some_time<T>(attempt: impl FnMut(Duration) -> Option<T>) -> T {
    let mut limits = (1..9).map(|doubled| Duration::from_secs(1 << doubled));
    limits
        .find_map(attempt)
        .expect("a shell that starts within minutes")
}

fn one_that_hangs_is_ended_with_all_that_it_has_started() {
    let directory = tempfile::tempdir().unwrap();
    let [own, sleeper] = ["own", "sleeper"].map(|name| directory.path().join(name));
    let script = format!(
        "echo $$ >{}; sleep 600 & echo $! >{}; wait",
        own.display(),
        sleeper.display()
    );
    let (mut remote, answer, limit) = within_some_time(|limit| {
        let mut remote = start(&script, limit).ok()?;
        let answer = remote.time(Request::U32, 1);
        let is_written = [&own, &sleeper]
            .map(|file| std::fs::read_to_string(file).is_ok_and(|number| number.ends_with('\n')));
        (is_written == [true, true]).then_some((remote, answer, limit.as_secs()))
    });
    assert_eq!(
        message(answer),
        format!("its process did not answer within {limit} s, and was ended")
    );
    assert!(!Path::new(&format!("/proc/{}", number(&own))).exists());
    // Another process reaps it.
    wait_until(|| !is_alive(&sleeper));
    assert_eq!(
        message(remote.time(Request::U32, 1)),
        "its process has ended"
    );
}

/// The control: one that is slow, and not too slow.
fn one_that_takes_its_time_is_waited_for() {
    let (mut remote, answer) = asked("sleep 0.4; echo 7.5; read request; echo 8");
    assert_eq!(answer.unwrap(), 7.5);
    assert_eq!(remote.time(Request::U32, 1).unwrap(), 8.0);
}

fn one_that_dies_is_reported_with_its_last_words() {
    let (mut remote, answer) = asked("echo >&2; echo out of luck >&2; echo more >&2; exit 3");
    assert_eq!(
        message(answer),
        "its process ended early, exit status: 3: out of luck"
    );
    assert_eq!(message(remote.sample(&mut [0; 8])), "its process has ended");
    let (_, answer) = asked("kill -SEGV $$");
    assert!(message(answer).starts_with("its process ended early, signal: 11"));
    let failed = Remote::start(shell("exit 4"));
    assert_eq!(message(failed), "its process ended early, exit status: 4");
}

fn one_that_talks_nonsense_is_ended() {
    for nonsense in ["hello", "-1", "0", "NaN", "inf", "", "1 2"] {
        let (mut remote, answer) = asked(&format!("echo '{nonsense}'; sleep 600"));
        let expected = format!("its process answered {nonsense:?}, and was ended");
        assert_eq!(message(answer), expected);
        assert_eq!(
            message(remote.time(Request::U32, 1)),
            "its process has ended"
        );
    }
    let (_, answer) = asked("exec tr '\\0' a </dev/zero");
    assert!(message(answer).starts_with("its process answered \"aaaa"));
}

fn a_sample_is_neither_shorter_nor_longer() {
    let sample_of = |mut remote: Remote| {
        let mut out = [0; 4];
        remote.sample(&mut out).map(|()| out)
    };
    let sample = |script| sample_of(start(script, LONG).unwrap());
    let whole = sample("echo bytes 4; printf abcd");
    assert_eq!(whole.unwrap(), *b"abcd");
    let ended = sample("echo bytes 4; printf abc");
    assert_eq!(message(ended), "its process ended early, exit status: 0");
    let script = "echo bytes 4; printf abc; sleep 600";
    let hangs = sample_of(within_some_time(|limit| start(script, limit).ok()));
    assert!(message(hangs).contains("did not answer"));
    let longer = sample("echo bytes 5; printf abcde");
    assert!(message(longer).contains("answered \"bytes 5\""));
    let reported = sample("echo error no luck; sleep 600");
    assert_eq!(message(reported), "no luck");
}

fn none_is_left_when_it_is_dropped() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("number");
    let (remote, answer) = asked(&format!("echo $$ >{}; echo 1; sleep 600", file.display()));
    answer.unwrap();
    assert!(is_alive(&file));
    drop(remote);
    assert!(!is_alive(&file));
}

/// The end of its input is the only sign by which a child learns that its parent is gone.
fn a_child_of_ours_ends_with_its_input() {
    let mut command = child("getrandom");
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut ready = [0; 6];
    child
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut ready)
        .unwrap();
    assert_eq!(ready, *b"ready\n");
    assert!(child.try_wait().unwrap().is_none());
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
}

fn number(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap().trim().into()
}

fn a_child_times_its_source_and_gives_samples() {
    let mut remote = Remote::start(child("getrandom")).unwrap();
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

fn a_child_reports_errors_and_goes_on() {
    let mut remote = Remote::start(child("idle")).unwrap();
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

fn what_is_not_there_is_named() {
    let failed = Remote::start(child("missing"));
    assert_eq!(message(failed), "libidle is not installed");
    let failed = Remote::start(Command::new("/nowhere"));
    assert_eq!(message(failed), "/nowhere: No such file or directory");
}
