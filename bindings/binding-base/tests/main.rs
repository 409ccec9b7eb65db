//! Tests counters: many threads, and processes that die, add their counts to one file.

use std::io::ErrorKind;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};

use squall_binding_base::counters::{self, Interface};
use squall_testing::suite::{self, Test};
use squall_testing::tests;

fn main() -> ExitCode {
    if std::env::var_os(CHILD).is_some() {
        count_and_die();
    }
    suite::main(&[TESTS])
}

const REQUESTS: u64 = 1000;

/// If this variable is set, this program counts on two threads and dies.
const CHILD: &str = "SQUALL_TEST_COUNTS";

/// If it has this value, there is no address space for the counters.
const WITHOUT_SPACE: &str = "without space";

/// Counts on two threads, then dies.
fn count_and_die() -> ! {
    if std::env::var_os(CHILD).is_some_and(|value| value == WITHOUT_SPACE) {
        let none = libc::rlimit {
            rlim_cur: 0,
            rlim_max: 0,
        };
        // SAFETY: the limit is readable.
        assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &none) }, 0);
        counters::attach();
        counters::forwarded(Interface::Device);
        std::process::exit(0);
    }
    counters::attach();
    counters::attach();
    let count = || {
        for _ in 0..REQUESTS {
            counters::served(Interface::Getrandom, 16);
            counters::forwarded(Interface::Device);
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(count);
        count();
    });
    std::process::abort();
}

/// Starts a process that counts, in `file` if there is one.
fn run_counting_child(file: Option<&Path>) {
    let status = run_child("1", file);
    assert_eq!(status.signal(), Some(libc::SIGABRT), "it aborts: {status}");
}

/// Starts one with this value of [`CHILD`], and returns how it ended.
fn run_child(value: &str, file: Option<&Path>) -> ExitStatus {
    let mut child = Command::new(std::env::current_exe().expect("this program"));
    child.env(CHILD, value);
    match file {
        Some(file) => child.env(counters::VARIABLE, file),
        None => child.env_remove(counters::VARIABLE),
    };
    child.output().expect("it runs").status
}

fn counts_of_killed_processes_stay() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("counters");
    counters::create(&file).expect("a file");
    assert_eq!(counters::read(&file).expect("counters").loads, 0);
    for processes in 1..=3 {
        run_counting_child(Some(&file));
        let totals = counters::read(&file).expect("counters");
        assert_eq!(totals.loads, processes);
        let served = totals.count(Interface::Getrandom);
        let all = processes * 2 * REQUESTS;
        assert_eq!(
            (served.requests, served.bytes, served.forwarded),
            (all, 16 * all, 0)
        );
        assert_eq!(totals.count(Interface::Device).forwarded, all);
        assert_eq!(totals.count(Interface::Openssl).requests, 0);
    }
    // Without the variable nothing is counted, and the file keeps its counts.
    run_counting_child(None);
    assert_eq!(counters::read(&file).expect("counters").loads, 3);
}

fn other_files_are_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let write_file = |name: &str, contents: &[u8]| -> PathBuf {
        let path = folder.path().join(name);
        std::fs::write(&path, contents).expect("a file");
        path
    };
    let whole = folder.path().join("whole");
    counters::create(&whole).expect("a file");
    let len = std::fs::metadata(&whole).expect("its size").len() as usize;
    for (name, contents) in [
        ("empty", vec![]),
        ("short", vec![7; len - 1]),
        ("zeros", vec![0; len]),
        ("long", vec![7; len + 1]),
    ] {
        let path = write_file(name, &contents);
        run_counting_child(Some(&path));
        assert_eq!(std::fs::read(&path).expect("the file"), contents, "{name}");
        assert!(counters::read(&path).is_err(), "{name}");
    }
    for (name, is_replaced) in [("zeros", false), ("empty", false), ("whole", true)] {
        let before = std::fs::read(folder.path().join(name)).expect("the file");
        let created = counters::create(&folder.path().join(name));
        assert_eq!(created.is_ok(), is_replaced, "{name}");
        assert_eq!(
            std::fs::read(folder.path().join(name)).expect("the file"),
            before
        );
    }
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&whole, &link).expect("a link");
    assert!(counters::create(&link).is_err());
    run_counting_child(Some(&link));
    assert_eq!(counters::read(&whole).expect("counters").loads, 0);
}

fn a_file_that_cannot_be_mapped_counts_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("counters");
    counters::create(&file).expect("a file");
    assert!(run_child(WITHOUT_SPACE, Some(&file)).success());
    assert_eq!(counters::read(&file).expect("counters").loads, 0);
    let error = counters::read(folder.path()).map(drop);
    let kind = error.map_err(|error| error.kind());
    assert_eq!(kind, Err(ErrorKind::IsADirectory));
}

/// A file that does not exist is made whole, for its owner alone, and only where its name stands.
fn a_missing_file_is_made() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("counters");
    for processes in 1..=2 {
        run_counting_child(Some(&file));
        assert_eq!(counters::read(&file).expect("counters").loads, processes);
    }
    let mode = std::fs::metadata(&file)
        .expect("the file")
        .permissions()
        .mode();
    assert_eq!(mode & 0o7777, 0o600);
    let link = folder.path().join("link");
    symlink(folder.path().join("elsewhere"), &link).expect("a link");
    run_counting_child(Some(&link));
    run_counting_child(Some(&folder.path().join("no folder/counters")));
    run_counting_child(Some(Path::new("")));
    assert_eq!(
        std::fs::read_dir(folder.path()).expect("a folder").count(),
        2
    );
}

const TESTS: &[Test] = tests![
    counts_of_killed_processes_stay,
    other_files_are_left_alone,
    a_file_that_cannot_be_mapped_counts_nothing,
    a_missing_file_is_made
];
