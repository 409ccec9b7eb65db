//! Sources that are served by a child of ours, or by the Go program, are as good as those here; and children that do not do
//! what they should: each becomes a clear failure, and none is left.

use std::ffi::OsStr;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use squall_bench::go::program;
use squall_bench::remote::Remote;
use squall_bench::sources::{Request, Source};
use squall_testing::suite::Test;
use squall_testing::tests;
use squall_testing::workspace::write_program;
use squall_tool_base::Failure;

use crate::{GO, TEST_ALL, child, go, is_alive, message, wait_until};

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
    its_sources_give_what_is_asked_for: [TEST_ALL, GO],
    its_samples_are_of_all_bytes_and_never_alike: [TEST_ALL, GO],
    it_names_what_it_does_not_know: [TEST_ALL, GO],
    it_ends_with_its_input: [TEST_ALL, GO],
    gos_library_is_compiled_only_if_that_is_allowed: [TEST_ALL, GO],
    its_folder_is_private_and_removed_with_it: [TEST_ALL, GO],
    without_a_compiler_it_says_what_is_missing,
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

/// A command in `directory` that runs these lines of a shell.
fn script(directory: &Path, lines: &str) -> PathBuf {
    write_program(&directory.join("go"), format!("#!/bin/sh\n{lines}\n"))
}

fn its_sources_give_what_is_asked_for() {
    let go = go();
    assert!(go.version().starts_with("go1."));
    for name in ["crypto", "math"] {
        let mut remote = go.source(name).unwrap();
        for len in [1, 7, 16, 33, 4096] {
            let mut out = vec![0; len];
            remote.time(Request::Fill(&mut out), 100).unwrap();
        }
        for request in [Request::U32, Request::U64] {
            remote.time(request, 10_000).unwrap();
        }
        for threads in [1, 2, 5] {
            let time = Duration::from_millis(20);
            remote
                .parallel(threads, 32, time)
                .expect("threads")
                .unwrap();
        }
        go.first(name).unwrap();
    }
}

fn its_samples_are_of_all_bytes_and_never_alike() {
    let go = go();
    for name in ["crypto", "math"] {
        let mut samples = [vec![0; 100_001], vec![0; 100_001]];
        for sample in &mut samples {
            go.source(name).unwrap().sample(sample).unwrap();
            for byte in 0..=255 {
                let count = sample.iter().filter(|&&found| found == byte).count();
                assert!((200..650).contains(&count), "{name}: {count} times {byte}");
            }
        }
        let alike = samples[0]
            .iter()
            .zip(&samples[1])
            .filter(|(a, b)| a == b)
            .count();
        assert!((200..650).contains(&alike), "{name}: {alike}");
    }
}

fn it_names_what_it_does_not_know() {
    let go = go();
    assert_eq!(message(go.source("dice")), "no such source: dice");
    assert_eq!(message(go.first("dice")), "no such source: dice");
}

/// It does not go on for a minute when nobody is there any more.
fn it_ends_with_its_input() {
    let go = go();
    let mut command = go.command(&["serve", "math"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"parallel 2 32 600000\n").unwrap();
    assert!(child.try_wait().unwrap().is_none());
    drop(input);
    wait_until(|| child.try_wait().unwrap().is_some());
}

/// A command that is Go with a cache of its own, in `directory`.
fn go_with_cache(directory: &Path) -> PathBuf {
    let cache = directory.join("cache");
    script(
        directory,
        &format!("GOCACHE='{}' exec go \"$@\"", cache.display()),
    )
}

fn gos_library_is_compiled_only_if_that_is_allowed() {
    let directory = tempfile::tempdir().unwrap();
    let go = go_with_cache(directory.path());
    let program = |may_compile| program(go.as_os_str(), may_compile);
    assert!(program(false).unwrap_err().contains("not built yet"));
    program(true).unwrap();
    let built = program(false).unwrap();
    assert!(built.first("crypto").is_ok());
}

fn its_folder_is_private_and_removed_with_it() {
    let go = go();
    let path: PathBuf = go.command(&[]).get_program().into();
    let directory = path.parent().unwrap();
    let mode = fs::metadata(directory).unwrap().permissions().mode();
    assert_eq!(mode & 0o077, 0, "{mode:o}");
    drop(go);
    assert!(!directory.exists());
}

fn without_a_compiler_it_says_what_is_missing() {
    let directory = tempfile::tempdir().unwrap();
    let by = |go: &OsStr| program(go, true).unwrap_err();
    assert_eq!(by("/nowhere/go".as_ref()), "Go is not installed");
    let fake = |lines: &str| by(script(directory.path(), lines).as_os_str());
    let old = fake("echo go version go1.21.3 linux/amd64");
    assert_eq!(old, "go1.21.3 is too old: go1.22 has math/rand/v2");
    assert_eq!(fake("echo broken >&2; exit 1"), "broken");
    let failing = "case $1 in version) echo go version go1.30rc2 linux/amd64;;
                   *) printf '# of it\\nmain.go:7: no\\nmain.go:8: no\\n' >&2; exit 1;; esac";
    assert_eq!(fake(failing), "its program cannot be built: main.go:7: no");
}
