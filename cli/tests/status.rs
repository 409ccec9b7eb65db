//! What `squall status` prints, as text and as JSON.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;
use squall_testing::suite::Test;
use squall_testing::tests;

use crate::common::{bytes, squall, text};

fn json() -> Value {
    serde_json::from_slice(&bytes("status --json")).expect("the status is JSON")
}

fn json_has_exactly_the_documented_keys() {
    let help = text(&bytes("status --help"));
    let (_, keys) = help.split_once("Keys: ").expect("a list of keys");
    let (keys, _) = keys.split_once(": lists").expect("the lists come last");
    let documented: BTreeSet<_> = keys
        .split_whitespace()
        .map(|word| word.trim_end_matches(','))
        .filter(|word| *word != "and")
        .collect();
    let status = json();
    let keys = status.as_object().expect("an object").keys();
    assert_eq!(
        keys.map(String::as_str).collect::<BTreeSet<_>>(),
        documented
    );
}

fn json_agrees_with_the_library() {
    let (object, status) = (json(), squall::status());
    let counts = [
        "kernel_generation",
        "reseeds",
        "bootstraps",
        "bytes_discarded",
    ];
    let expected = serde_json::to_value(&status).expect("names and numbers");
    for (key, value) in expected.as_object().expect("an object") {
        if !counts.contains(&key.as_str()) {
            assert_eq!(&object[key], value, "{key}");
        }
    }
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
    let signals = object["copy_signals"].as_array().expect("a list");
    assert_eq!(facts.len(), 22 + signals.len(), "{shown}");
    for signal in signals {
        let [name, copy] = ["signal", "copy"].map(|key| signal[key].as_str().expect("a name"));
        let line = format!("  {name:18}{copy}: ");
        assert!(facts.iter().any(|fact| fact.starts_with(&line)), "{line}");
    }
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

fn the_installed_criu_is_judged() {
    let folder = tempfile::tempdir().expect("a folder");
    let criu = folder.path().join("criu");
    for (version, is_old) in [("4.1.1", true), ("4.2.1", false)] {
        fs::write(&criu, format!("#!/bin/sh\necho 'Version: {version}'\n")).expect("a script");
        fs::set_permissions(&criu, Permissions::from_mode(0o755)).expect("it can be run");
        let mut status = squall("status --json");
        let output = status.env("PATH", folder.path()).output();
        let printed = output.expect("the command runs").stdout;
        let printed = text(&printed);
        assert_eq!(printed.contains(&format!("CRIU {version} ")), is_old);
    }
}

pub const TESTS: &[Test] = tests![
    json_has_exactly_the_documented_keys,
    json_agrees_with_the_library,
    people_see_one_aligned_fact_a_line,
    warnings_come_with_advice,
    the_installed_criu_is_judged,
];
