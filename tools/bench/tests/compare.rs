//! `--compare`: a change is reported, noise is not, and what all sources have in common is the machine's.

use std::path::Path;

use squall_bench::report::compare::{Change, Comparison, compare, read};
use squall_bench::report::model::{Effort, Figure, Report};
use squall_tool_base::Failure;
use tempfile::TempDir;

use crate::fixture::fixture;
use squall_testing::suite::Test;
use squall_testing::tests;

pub const TESTS: &[Test] = tests![
    noise_is_no_change,
    what_became_slower_is_reported_less_what_all_have_in_common,
    two_sources_have_nothing_in_common,
    runs_that_are_too_noisy_do_not_tell,
    intervals_that_overlap_are_no_change,
    another_machine_is_said_first,
    what_is_no_report_is_refused_in_a_line,
];

/// The fixture with the times of each source changed: by its name and the number of the point.
fn with(factor: impl Fn(&str, usize) -> f64) -> Report {
    let mut report = fixture();
    let mut number = 0;
    let workloads = report.workloads.iter_mut();
    for series in workloads.flat_map(|workload| &mut workload.series) {
        for point in &mut series.points {
            let factor = factor(&series.source, number);
            let samples = point.ns.samples.iter().map(|ns| ns * factor);
            point.ns = Figure::from_samples(samples.collect());
            number += 1;
        }
    }
    report
}

/// A percent more or less, and sometimes four, without a pattern.
fn noise(number: usize) -> f64 {
    let step = (number * 7919 + 13) % 101;
    let reach = if step.is_multiple_of(10) { 0.08 } else { 0.02 };
    1.0 + reach * (step as f64 / 100.0 - 0.5)
}

#[track_caller]
fn assert_nothing_changed(comparison: &Comparison) {
    let text = comparison.to_string();
    assert!(
        comparison.slower.is_empty() && comparison.faster.is_empty(),
        "{text}"
    );
    assert!(comparison.unchanged > 200, "{text}");
    assert!(!text.contains("Slower than before") && !text.contains("Faster than before"));
}

fn noise_is_no_change() {
    let comparison = compare(&fixture(), &with(|_, number| noise(number)));
    assert_nothing_changed(&comparison);
    assert!(comparison.apart.is_empty() && comparison.only == [0, 0]);
    let text = comparison.to_string();
    assert!(!text.contains("runs differ"), "{text}");
    assert!(text.contains("The machine is as fast as it was."), "{text}");
}

/// Each point of a source that became slower, the worst first; the other way round it became faster.
fn what_became_slower_is_reported_less_what_all_have_in_common() {
    let is_slower = |source: &str| source.starts_with("squall");
    for machine in [1.0, 1.3] {
        let own = |source: &str| if is_slower(source) { 1.2 } else { 1.0 };
        let slower = with(|source, number| noise(number) * machine * own(source));
        let found = compare(&fixture(), &slower);
        let common = found.common.expect("many sources");
        assert!((common / machine - 1.0).abs() < 0.02, "{common}");
        let workloads = fixture().workloads.into_iter();
        let series = workloads.flat_map(|workload| workload.series);
        let points = series.filter(|series| is_slower(&series.source));
        let points: usize = points.map(|series| series.points.len()).sum();
        assert_eq!((found.slower.len(), found.faster.len()), (points, 0));
        let is_right =
            |change: &Change| is_slower(&change.source) && (1.14..1.26).contains(&change.ratio);
        assert!(found.slower.iter().all(is_right), "{found}");
        assert!(
            found
                .slower
                .is_sorted_by(|one, other| one.ratio >= other.ratio)
        );
        let text = found.to_string();
        assert!(text.contains("Slower than before") && text.contains("+20."));
        assert_eq!(
            text.contains("% slower. That is the machine"),
            machine > 1.0
        );
        let back = compare(&slower, &fixture());
        assert_eq!((back.slower.len(), back.faster.len()), (0, points));
        assert!(
            back.faster.iter().all(|change| change.ratio < 0.9),
            "{back}"
        );
    }
}

/// With two sources it is not known which one changed.
fn two_sources_have_nothing_in_common() {
    let few = |mut report: Report| {
        for workload in &mut report.workloads {
            let is_one = |name: &str| ["squall", "vdso"].contains(&name);
            workload.series.retain(|series| is_one(&series.source));
        }
        report
    };
    let comparison = compare(&few(fixture()), &few(with(|_, _| 1.2)));
    assert_eq!(comparison.common, None);
    assert!(comparison.to_string().contains("Too few sources"));
}

/// Times that are now a third of what they were, now three times as long: nothing is said to be unchanged.
fn runs_that_are_too_noisy_do_not_tell() {
    let noisy = with(|_, number| [0.3, 3.0, 1.0][number % 3]);
    let text = compare(&fixture(), &noisy).to_string();
    assert!(
        text.contains("\nThese runs are too noisy to tell: "),
        "{text}"
    );
    assert!(!text.contains("did not change"), "{text}");
}

/// Samples that reach into each other's interval are no change, however far the medians are.
fn intervals_that_overlap_are_no_change() {
    let noisy = |median: f64| {
        let mut report = fixture();
        let point = &mut report.workloads[0].series[0].points[0];
        let samples = [0.3, 0.4, 0.5, 0.6, 1.0, 1.4, 1.5, 1.6, 1.7];
        point.ns = Figure::from_samples(samples.map(|part| part * median).into());
        report
    };
    assert_nothing_changed(&compare(&noisy(2.0), &noisy(2.4)));
}

fn another_machine_is_said_first() {
    let mut other = fixture();
    other.machine.kernel = "7.1.0".into();
    other.machine.versions.pop();
    other.effort = Effort::Quick;
    other.complete = false;
    other.workloads.pop();
    let comparison = compare(&fixture(), &other);
    for line in [
        "effort: full before, quick now",
        "run: complete before, interrupted now",
        "Kernel: Linux 6.18.44 before, Linux 7.1.0 now",
        "Go: go1.26.1 before, none now",
    ] {
        assert!(
            comparison.apart.iter().any(|apart| apart == line),
            "{comparison}"
        );
    }
    assert_eq!(comparison.apart.len(), 4);
    let text = comparison.to_string();
    let first = text.find("runs differ").expect("it is said");
    assert!(first < text.find("points did not change").expect("it is said"));
    assert!(text.contains("Measured only before: 4."), "{text}");
}

/// One line that names the file and says what it is.
fn what_is_no_report_is_refused_in_a_line() {
    let directory = TempDir::new().expect("a directory");
    let refused = |content: &str| {
        let path = directory.path().join("report.json");
        std::fs::write(&path, content).expect("a file");
        message(&path)
    };
    let json = serde_json::to_value(fixture()).expect("JSON");
    let changed = |place: &str, value: serde_json::Value| {
        let mut json = json.clone();
        *json.pointer_mut(place).expect("a place") = value;
        json.to_string()
    };
    let samples = "/workloads/0/series/0/points/0/ns/samples";
    for (content, expected) in [
        ("<html>".to_owned(), "not JSON"),
        (String::new(), "not JSON"),
        ("[]".into(), "not a report of squall bench"),
        ("{}".into(), "not a report of squall bench"),
        (
            changed("/schema", 2.into()),
            "schema 2, but this version uses schema 1",
        ),
        (changed("/date", 3.into()), "not a complete report"),
        (
            changed(samples, serde_json::json!([])),
            "words, squall, 4: no times",
        ),
        (
            changed(samples, serde_json::json!([-1.0])),
            "words, squall, 4: no times",
        ),
    ] {
        let message = refused(&content);
        assert!(message.contains(expected), "{message}");
        assert!(message.contains("report.json: "), "{message}");
    }
    let missing = message(&directory.path().join("missing.json"));
    assert!(
        missing.ends_with("missing.json: No such file or directory"),
        "{missing}"
    );
}

fn message(path: &Path) -> String {
    match read(path) {
        Err(Failure::Usage(message)) => {
            assert!(!message.contains('\n'), "{message}");
            message
        }
        other => panic!("{other:?}"),
    }
}
