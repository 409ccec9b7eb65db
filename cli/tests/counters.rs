//! What `squall status --counters` shows for a file of counters.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use squall_bindings::counters::{self, Interface};
use squall_testing::suite::Test;
use squall_testing::tests;

use crate::common::{bytes, run, squall, text};

/// If this variable is set, this program counts instead of testing.
const COUNTS: &str = "SQUALL_TEST_COUNTS";

/// Whether this process was started by [`counted`].
pub fn is_asked_to_count() -> bool {
    std::env::var_os(COUNTS).is_some()
}

/// Counts in the file that the environment names.
pub fn count() {
    counters::attach();
    counters::served(Interface::Getrandom, 16);
    counters::served(Interface::Getrandom, 1_999_984);
    counters::forwarded(Interface::Device);
}

/// Creates a file of counters and runs a process that counts in it.
fn counted(path: &Path) {
    counters::create(path).expect("a file");
    let mut counting = Command::new(std::env::current_exe().expect("this program"));
    counting.env(COUNTS, "1").env(counters::VARIABLE, path);
    assert!(counting.status().expect("it runs").success());
}

fn people_see_the_interfaces_that_were_used() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("a file");
    counted(&file);
    let show = |json: &[&str]| {
        let mut command = squall("status --counters");
        let output = command.arg(&file).args(json).output().expect("it runs");
        assert_eq!(text(&output.stderr), "");
        text(&output.stdout)
    };
    let expected = "\
squall's libraries were loaded 1 time.

interface           requests     bytes    left to kernel
getrandom                  2   2.00 MB                 0
device                     0       0 B                 1
";
    assert_eq!(show(&[]), expected);
    let json: Value = serde_json::from_str(&show(&["--json"])).expect("JSON");
    assert_eq!(json["loads"], 1);
    let interfaces = json["interfaces"].as_array().expect("a list");
    assert_eq!(interfaces.len(), Interface::ALL.len());
    assert_eq!(
        interfaces[0],
        serde_json::json!({
            "interface": "getrandom", "requests": 2, "bytes": 2_000_000, "forwarded": 0
        })
    );
}

fn nothing_was_drawn() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("counters");
    counters::create(&file).expect("a file");
    let shown = bytes(&format!("status --counters {}", file.display()));
    assert_eq!(
        text(&shown),
        "squall's libraries were loaded 0 times.\nNothing was counted.\n"
    );
}

fn files_that_are_not_counters_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("counters");
    let refused = |reason: &str| {
        let output = run(&format!("status --counters {}", file.display()));
        assert_eq!(output.status.code(), Some(2));
        let message = text(&output.stderr);
        assert_eq!(message, format!("squall: {}: {reason}\n", file.display()));
    };
    refused("No such file or directory");
    let advice = "not a counter file: name one that squall run --counters made";
    fs::write(&file, "something else").expect("a file");
    refused(advice);
    fs::remove_file(&file).expect("it goes");
    counters::create(&file).expect("a file");
    let mut bytes = fs::read(&file).expect("a file");
    bytes.pop();
    fs::write(&file, &bytes).expect("a file");
    refused(advice);
}

pub const TESTS: &[Test] = tests![
    people_see_the_interfaces_that_were_used,
    nothing_was_drawn,
    files_that_are_not_counters_are_refused,
];
