//! Tests `squall bench` as a user runs it: its outputs, and its error messages.
//!
//! Speeds are not checked here, because tests share the machine.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use squall_testing::refuse::{Refusal, refusing};
use squall_testing::suite::Test;
use squall_testing::tests;
use tempfile::{TempDir, tempdir};

use crate::common::{bytes, refused, run, squall, text, wait_for_end};

/// Two sources and one workload, which takes a moment.
const SHORT: &str = "bench --quick --source squall --source getrandom --workload words";

fn json(path: &Path) -> Value {
    let report = fs::read_to_string(path).expect("a report");
    serde_json::from_str(&report).expect("a report is JSON")
}

fn squall_to(path: &Path, option: &str, arguments: &str) -> Command {
    let mut command = squall(arguments);
    command.arg(option).arg(path);
    command
}

fn files_in(folder: &TempDir) -> usize {
    fs::read_dir(folder.path()).expect("it is there").count()
}

/// Checks that the command line is refused in a line with all of `words`.
#[track_caller]
fn is_refused(mut command: Command, words: &[&str]) {
    refused(&command.output().expect("the command runs"), 2, words);
}

#[track_caller]
fn contains(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "{word}: {text}");
    }
}

fn a_quick_run_fills_every_output() {
    let workspace = tempdir().expect("a directory");
    let path = |name: &str| workspace.path().join(name);
    let mut command = squall_to(&path("report.json"), "--export-json", SHORT);
    command.arg("--export-csv").arg(path("report.csv"));
    command.arg("--export-html").arg(path("report.html"));
    let output = command.output().expect("the command runs");
    assert_eq!(text(&output.stderr), "");
    assert!(output.status.success());
    let table = text(&output.stdout);
    contains(&table, &["squall", "getrandom", "u32", "u64", " ns"]);
    let report = json(&workspace.path().join("report.json"));
    assert_eq!(report["complete"], true);
    assert_eq!(report["effort"], "quick");
    let series = report["workloads"][0]["series"].as_array().expect("series");
    assert_eq!(series.len(), 2);
    for series in series {
        for point in series["points"].as_array().expect("points") {
            assert!(point["ns"]["median"].as_f64().expect("a time") > 0.0);
        }
    }
    let csv = fs::read_to_string(path("report.csv")).expect("figures");
    assert_eq!(csv.lines().count(), 5, "{csv}");
    let html = fs::read_to_string(path("report.html")).expect("a page");
    contains(&html, &["<!DOCTYPE html>", "the getrandom system call"]);
    assert_eq!(files_in(&workspace), 3);
}

/// With JSON on standard output, nothing else is written there. Peers that were not asked for are not measured.
fn json_on_standard_output_is_alone() {
    let chosen = "bench --quick --workload start --workload words --source squall";
    for option in ["--json", "--export-json -"] {
        let report: Value =
            serde_json::from_slice(&bytes(&format!("{chosen} {option}"))).expect("JSON");
        assert_eq!(report["schema"], 1);
        for workload in report["workloads"].as_array().expect("workloads") {
            let series = workload["series"].as_array().expect("series");
            assert_eq!(series.len(), 1, "{workload}");
        }
    }
}

fn a_run_is_compared_with_an_older_one() {
    let workspace = tempdir().expect("a directory");
    let path = workspace.path().join("old.json");
    assert!(
        squall_to(&path, "--export-json", SHORT)
            .status()
            .expect("it runs")
            .success()
    );
    let output = squall_to(&path, "--compare", SHORT)
        .output()
        .expect("it runs");
    assert!(output.status.success());
    // On a busy machine the runs may be too noisy to tell.
    contains(&text(&output.stdout), &["before: ", " of 4 points "]);
    // The comparison fails before anything is measured.
    fs::write(&path, "{").expect("a file");
    is_refused(squall_to(&path, "--compare", "bench"), &["old.json"]);
}

/// The error comes before minutes are spent, and no file is left half-written.
fn an_output_that_cannot_be_written_is_noticed_first() {
    let workspace = tempdir().expect("a directory");
    let absent = workspace.path().join("absent/page.html");
    let to_directory = squall_to(workspace.path(), "--export-json", "bench");
    is_refused(to_directory, &["irectory"]);
    let kept = workspace.path().join("kept.json");
    let mut both = squall_to(&kept, "--export-json", "bench");
    both.arg("--export-csv").arg(&absent);
    is_refused(both, &["absent/page.html"]);
    assert_eq!(files_in(&workspace), 0);
}

/// The report does not replace a pipe, a device or a link by a file.
fn pipes_devices_and_links_are_not_replaced() {
    let workspace = tempdir().expect("a directory");
    let [target, link] = ["target.csv", "link.csv"].map(|name| workspace.path().join(name));
    symlink(&target, &link).expect("a link");
    fs::write(&target, "old").expect("a file");
    let mut command = squall_to(Path::new("/dev/stderr"), "--export-json", SHORT);
    let output = command
        .arg("--export-csv")
        .arg(&link)
        .output()
        .expect("it runs");
    assert!(output.status.success());
    let report: Value = serde_json::from_slice(&output.stderr).expect("JSON");
    assert_eq!(report["schema"], 1);
    assert!(fs::symlink_metadata(&link).expect("a link").is_symlink());
    assert!(
        fs::read_to_string(&target)
            .expect("figures")
            .starts_with("workload,")
    );
    let twice = squall("bench --quick --json --export-csv -");
    is_refused(twice, &["standard output takes one report"]);
}

/// An interrupted run writes what it measured, marked incomplete. How long the first workload takes
/// depends on the machine, so a run that is interrupted too early is repeated with more time.
fn an_interrupted_run_writes_its_results() {
    let workspace = tempdir().expect("a directory");
    let path = workspace.path().join("report.json");
    let runs = (0..10).map(|doubled| Duration::from_secs(1 << doubled));
    let report = runs.map(|time| interrupted(&path, time)).find(|report| {
        let series = report
            .as_ref()
            .map(|report| &report["workloads"][0]["series"]);
        series.is_some_and(|series| series.get(0).is_some())
    });
    let report = report.flatten().expect("a workload within minutes");
    assert_eq!(report["complete"], false);
    assert_eq!(report["workloads"][0]["name"], "words");
}

/// The report of a full run of one source, interrupted after `time`. None if the run did not yet handle
/// interrupts.
fn interrupted(path: &Path, time: Duration) -> Option<Value> {
    let child = squall_to(path, "--export-json", "bench --source squall")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command runs");
    std::thread::sleep(time);
    kill_process(Pid::from_child(&child), Signal::INT).expect("it runs still");
    let (code, errors) = wait_for_end(child);
    code?;
    assert_eq!(code, Some(1));
    contains(&errors, &["squall: interrupted"]);
    Some(json(path))
}

/// Without Go, the report names its sources as missing, and the rest is measured.
fn a_missing_peer_is_named() {
    let workspace = tempdir().expect("a directory");
    let path = workspace.path().join("report.json");
    let arguments = format!("{SHORT} --source go-crypto-rand");
    let status = squall_to(&path, "--export-json", &arguments)
        .env("PATH", workspace.path())
        .stdout(Stdio::null())
        .status()
        .expect("it runs");
    assert!(status.success());
    let report = json(&path);
    let sources = report["sources"].as_array().expect("sources");
    let state = |name: &str| {
        let named = sources.iter().find(|source| source["name"] == name);
        named.expect("the source")["state"].clone()
    };
    assert_eq!(state("go-crypto-rand"), "missing");
    assert_eq!(state("squall"), "measured");
}

/// The run goes on where threads cannot be bound to a CPU.
fn a_run_without_permissions_reports_it_and_continues() {
    let workspace = tempdir().expect("a directory");
    let path = workspace.path().join("report.json");
    let refusal = Refusal {
        call: libc::SYS_sched_setaffinity,
        when: None,
        errno: libc::EPERM,
    };
    let command = squall_to(&path, "--export-json", SHORT);
    let output = refusing(command, &[refusal]).output().expect("it runs");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let report = json(&path);
    assert_eq!(report["machine"]["pinned"], false);
}

fn sources_are_explained() {
    let explained = text(&bytes("bench --explain vdso"));
    contains(&explained, &["vDSO", "fit for secrets", "median"]);
    let urandom = text(&bytes("bench --explain urandom"));
    contains(&urandom, &["Published: ChaCha20 of OpenBSD, 78.0 MB/s"]);
    let unknown = squall("bench --explain nobody");
    is_refused(unknown, &["--explain", "\"nobody\"", "squall-fresh"]);
}

fn wrong_arguments_are_one_line() {
    for (arguments, words) in [
        (
            "bench --quick --bytes-of vdso",
            &["--quick", "--bytes-of"][..],
        ),
        ("bench --json --bytes-of vdso", &["--json", "--bytes-of"]),
        ("bench --explain vdso --bytes-of vdso", &["--explain"]),
        ("bench --explain vdso --source vdso", &["--explain"]),
        ("bench --workload dance", &["--workload", "words"]),
        (
            "bench --source squal",
            &["--source", "\"squal\"", "did you mean squall?"],
        ),
        ("bench --explain vdos", &["--explain", "did you mean vdso?"]),
    ] {
        is_refused(squall(arguments), words);
    }
}

/// As `head` and `RNG_test` read them, which both leave.
fn bytes_of_a_source_are_written_until_nobody_reads_them() {
    const LEN: usize = 1 << 20;
    for source in ["squall", "squall-no-signal"] {
        let mut command = squall(&format!("bench --bytes-of {source}"));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let mut written = vec![0; LEN];
        let mut output = child.stdout.take().expect("a pipe");
        output.read_exact(&mut written).expect("bytes");
        drop(output);
        let ones: u32 = written.iter().map(|byte| byte.count_ones()).sum();
        // Half of the bits, within 14 standard deviations.
        assert!(ones.abs_diff(4 * LEN as u32) < 20_000, "{source}: {ones}");
        assert_eq!(wait_for_end(child), (Some(0), String::new()), "{source}");
    }
}

fn a_source_without_bytes_says_so() {
    let output = run("bench --bytes-of dd-urandom");
    let expected = "dd-urandom: --bytes-of cannot write its bytes: it is a separate program";
    refused(&output, 1, &[expected]);
}

pub const TESTS: &[Test] = tests![
    a_quick_run_fills_every_output,
    json_on_standard_output_is_alone,
    a_run_is_compared_with_an_older_one,
    an_output_that_cannot_be_written_is_noticed_first,
    pipes_devices_and_links_are_not_replaced,
    an_interrupted_run_writes_its_results,
    a_missing_peer_is_named,
    a_run_without_permissions_reports_it_and_continues,
    sources_are_explained,
    wrong_arguments_are_one_line,
    bytes_of_a_source_are_written_until_nobody_reads_them,
    a_source_without_bytes_says_so,
];
