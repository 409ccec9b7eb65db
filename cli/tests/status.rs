//! What `squall status` prints, as text and as JSON.

use std::collections::BTreeSet;

use serde_json::Value;
use squall_testing::suite::Test;
use squall_testing::tests;

use crate::common::{bytes, text};

/// The documented keys.
const KEYS: [&str; 24] = [
    "version",
    "engine",
    "engines_available",
    "memory",
    "fork_guard",
    "clone_guard",
    "reseed_guard",
    "kernel_release",
    "cpu_model",
    "hypervisor",
    "is_vm",
    "has_vmgenid",
    "has_vmclock",
    "has_vmgenid_page",
    "counter_shows_stops",
    "has_vdso_getrandom",
    "cpu_random",
    "cycle_counter",
    "kernel_generation",
    "reseeds",
    "bootstraps",
    "bytes_discarded",
    "warnings",
    "notes",
];

fn json() -> Value {
    serde_json::from_slice(&bytes("status --json")).expect("the status is JSON")
}

fn json_has_exactly_the_documented_keys() {
    let status = json();
    let keys: BTreeSet<_> = status.as_object().expect("an object").keys().collect();
    let documented: Vec<_> = KEYS.map(str::to_owned).to_vec();
    assert_eq!(keys, documented.iter().collect());
    let help = text(&bytes("status --help"));
    for key in KEYS {
        assert!(help.contains(key), "{key} is not in the help");
    }
}

fn json_agrees_with_the_library() {
    let (object, status) = (json(), squall::status());
    assert_eq!(object["engine"], status.engine.name());
    assert_eq!(object["memory"], status.memory.to_string());
    assert_eq!(object["fork_guard"], status.fork_guard.to_string());
    assert_eq!(object["clone_guard"], status.clone_guard.to_string());
    assert_eq!(object["reseed_guard"], status.reseed_guard.to_string());
    assert_eq!(object["is_vm"], status.is_vm);
    assert_eq!(object["has_vmgenid"], status.has_vmgenid);
    assert_eq!(object["has_vmclock"], status.has_vmclock);
    assert_eq!(object["has_vmgenid_page"], status.has_vmgenid_page);
    assert_eq!(object["counter_shows_stops"], status.counter_shows_stops);
    assert_eq!(object["has_vdso_getrandom"], status.has_vdso_getrandom);
    assert_eq!(object["cpu_random"], status.cpu_random.to_string());
    assert_eq!(
        object["kernel_generation"].is_null(),
        status.kernel_generation.is_none()
    );
    assert_eq!(object["reseeds"], 1);
    assert_eq!(object["hypervisor"] == "none", !status.is_vm);
    let engines: Vec<_> = squall::Engine::available()
        .map(|engine| Value::from(engine.name()))
        .collect();
    assert_eq!(object["engines_available"], Value::from(engines));
}

fn people_see_one_aligned_fact_a_line() {
    let shown = text(&bytes("status"));
    let object = json();
    let facts: Vec<_> = shown
        .lines()
        .take_while(|line| !["Warnings", "Notes"].contains(line))
        .filter(|line| line.starts_with("  "))
        .collect();
    assert_eq!(facts.len(), 19, "{shown}");
    for fact in facts {
        let (name, value) = fact[2..].split_at(18);
        assert!(name.ends_with(' ') && !value.starts_with(' '), "{fact}");
    }
    for key in [
        "version",
        "engine",
        "memory",
        "clone_guard",
        "kernel_release",
    ] {
        let value = object[key].as_str().expect("a name");
        assert!(shown.contains(value), "{key}: {shown}");
    }
    assert!(!shown.contains('\u{1b}'), "no colour");
}

fn warnings_come_with_advice() {
    let shown = text(&bytes("status"));
    let object = json();
    let list = |key: &str| object[key].as_array().expect("a list").clone();
    let (warnings, notes) = (list("warnings"), list("notes"));
    assert_eq!(
        shown.contains("No protection is missing."),
        warnings.is_empty()
    );
    assert_eq!(shown.contains("\nNotes\n"), !notes.is_empty());
    for warning in warnings.into_iter().chain(notes) {
        for part in ["problem", "advice"] {
            let sentence = warning[part].as_str().expect("text");
            assert!(shown.contains(sentence), "{shown}");
        }
        assert!(warning["code"].is_string());
    }
}

pub const TESTS: &[Test] = tests![
    json_has_exactly_the_documented_keys,
    json_agrees_with_the_library,
    people_see_one_aligned_fact_a_line,
    warnings_come_with_advice,
];
