//! The Go program of `squall bench`: how it is built, and how it answers requests.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use squall_bench::go::program;
use squall_bench::source::{Request, Source};
use squall_testing::suite::Test;
use squall_testing::tests;
use squall_testing::workspace::write_program;

use crate::wait_until;
use crate::{GO, TEST_ALL, go, message};

pub const TESTS: &[Test] = tests![
    its_sources_give_what_is_asked_for: [TEST_ALL, GO],
    its_samples_are_of_all_bytes_and_never_alike: [TEST_ALL, GO],
    it_names_what_it_does_not_know: [TEST_ALL, GO],
    it_ends_with_its_input: [TEST_ALL, GO],
    gos_library_is_compiled_only_if_that_is_allowed: [TEST_ALL, GO],
    its_folder_is_private_and_removed_with_it: [TEST_ALL, GO],
    without_a_compiler_it_says_what_is_missing,
];

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
