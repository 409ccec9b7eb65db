//! `squall drives`: which devices it shows, and what uses them.

use std::path::Path;

use serde_json::Value;
use squall_testing::loops::Lab;
use squall_testing::needs::LOOP_DEVICES;
use squall_testing::suite::Test;
use squall_testing::tests;

use crate::common::{run, text};

pub const TESTS: &[Test] = tests![
    a_device_is_free_until_it_is_mounted: [LOOP_DEVICES],
    without_all_only_drives_on_a_bus_are_shown: [LOOP_DEVICES],
];

/// What `squall drives` says as JSON.
fn listed(options: &str) -> Vec<Value> {
    let output = run(&format!("drives --json {options}"));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    serde_json::from_slice(&output.stdout).expect("a JSON array")
}

#[track_caller]
fn entry(path: &Path) -> Value {
    let all = listed("--all");
    let found = all
        .iter()
        .find(|entry| entry["path"].as_str().map(Path::new) == Some(path));
    found
        .unwrap_or_else(|| panic!("{path:?} is not in {all:?}"))
        .clone()
}

fn a_device_is_free_until_it_is_mounted() {
    let lab = Lab::new();
    let device = lab.device(16 << 20);
    let free = entry(&device.path);
    assert_eq!(free["kind"], "loop");
    assert_eq!(free["size"], 16 << 20);
    assert_eq!(free["uses"], serde_json::json!([]));
    let mounted = lab.mounted(&device.path);
    let used = entry(&device.path);
    let reason = used["uses"][0].as_str().expect("a reason");
    assert!(reason.starts_with("is mounted at "), "{reason}");
    let shown = text(&run("drives --all").stdout);
    assert!(shown.contains("is mounted at "), "{shown}");
    drop(mounted);
    assert_eq!(entry(&device.path)["uses"], serde_json::json!([]));
}

fn without_all_only_drives_on_a_bus_are_shown() {
    let lab = Lab::new();
    let device = lab.device(1 << 20);
    let is_on_a_bus = |entry: &Value| entry["kind"] == "disk" && entry["bus"].is_string();
    assert!(listed("").iter().all(is_on_a_bus));
    // The control: there is one that is not.
    assert!(!is_on_a_bus(&entry(&device.path)));
}
