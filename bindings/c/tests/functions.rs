//! Calls every function from C.

use std::collections::BTreeSet;
use std::process::Command;

use squall_testing::artifacts;
use squall_testing::suite::Test;
use squall_testing::tests;

use crate::compile::{PKG_CONFIG, compile_and_run, succeed, text};

/// The keys of a JSON object on one line.
fn keys(json: &str) -> BTreeSet<String> {
    let value: serde_json::Value = serde_json::from_str(json).expect("JSON");
    value
        .as_object()
        .expect("an object")
        .keys()
        .cloned()
        .collect()
}

fn functions_return_what_the_header_promises() {
    let output = compile_and_run("tests/c/functions.c");
    let [status, version] = output.lines().collect::<Vec<_>>()[..] else {
        panic!("{output}");
    };
    assert_eq!(version, env!("CARGO_PKG_VERSION"));
    let command = succeed(Command::new(artifacts::command()).args(["status", "--json"]));
    let missing = &keys(status) - &keys(&text(&command.stdout));
    assert!(
        missing.is_empty(),
        "not in `squall status --json`: {missing:?}"
    );
    assert!(keys(status).contains("clone_guard"));
}

fn threads_and_signal_handlers_draw_different_numbers() {
    compile_and_run("tests/c/threads.c");
}

pub const TESTS: &[Test] = tests![
    functions_return_what_the_header_promises: [PKG_CONFIG],
    threads_and_signal_handlers_draw_different_numbers: [PKG_CONFIG],
];
