//! Calls every function from C: also in threads and signal handlers, with counters, after a fork, and without a source of randomness.

use std::collections::BTreeSet;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use squall_binding_base::counters::{self, Interface};
use squall_testing::artifacts;
use squall_testing::refuse::{Refusal, refusing};
use squall_testing::suite::Test;
use squall_testing::tests;
use squall_testing::workspace::{said, succeeded};

use crate::compile::{Linked, PKG_CONFIG, Program};

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
    let functions = Program::of("tests/c/functions.c", Linked::Dynamic);
    let output = said(&mut functions.command());
    let [status, version] = output.lines().collect::<Vec<_>>()[..] else {
        panic!("{output}");
    };
    assert_eq!(version, env!("CARGO_PKG_VERSION"));
    let command = said(Command::new(artifacts::command()).args(["status", "--json"]));
    let missing = &keys(status) - &keys(&command);
    assert!(
        missing.is_empty(),
        "not in `squall status --json`: {missing:?}"
    );
    assert!(keys(status).contains("clone_guard"));
}

fn threads_and_signal_handlers_draw_different_numbers() {
    let program = Program::of("tests/c/draws.c", Linked::Dynamic);
    succeeded(program.command().arg("threads"));
}

/// The library counts if the environment asks for it.
fn requests_and_bytes_are_counted() {
    for linked in [Linked::Dynamic, Linked::Static, Linked::FullyStatic] {
        let program = Program::of("tests/c/draws.c", linked);
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("counters");
        succeeded(
            program
                .command()
                .arg("counted")
                .env_remove(counters::VARIABLE),
        );
        assert!(!path.exists());
        // The library makes the file.
        succeeded(
            program
                .command()
                .arg("counted")
                .env(counters::VARIABLE, &path),
        );
        let totals = counters::read(&path).expect("counters");
        let library = totals.count(Interface::Library);
        // 100 and 200 bytes, numbers of 4 and 8, and one below 2, for which no number is rejected.
        assert_eq!(totals.loads, 1, "{linked:?}");
        assert_eq!(
            (library.requests, library.bytes),
            (5, 100 + 200 + 4 + 8 + 8)
        );
        assert_eq!(library.forwarded, 0);
    }
}

/// The control is a stream, which continues with the same bytes in both.
fn a_child_never_repeats_its_parent() {
    for linked in [Linked::Dynamic, Linked::FullyStatic] {
        let program = Program::of("tests/c/draws.c", linked);
        let repeats = |from: &str| {
            let output = said(program.command().args(["fork", from]));
            let [parent, child] = output.lines().collect::<Vec<_>>()[..] else {
                panic!("{from}: {output}");
            };
            assert_eq!(parent.len(), 64);
            parent == child
        };
        for from in ["fill", "u64", "uniform", "arc4random"] {
            assert!(!repeats(from), "{from}, {linked:?}");
        }
        assert!(repeats("stream"), "the control, {linked:?}");
    }
}

/// Runs `command` where neither getrandom(2) nor opening a file works.
fn sandboxed(command: Command) -> Command {
    let refusal = |call| Refusal {
        call,
        when: None,
        errno: libc::EPERM,
    };
    let calls = [libc::SYS_getrandom, libc::SYS_openat].map(refusal);
    refusing(command, &calls)
}

fn without_randomness_functions_return_errors() {
    // Fully static, because the dynamic loader opens files.
    let program = Program::of("tests/c/draws.c", Linked::FullyStatic);
    let command = |what: &str| {
        let mut command = program.command();
        command.arg(what);
        command
    };
    assert_eq!(said(&mut sandboxed(command("refused"))), "-2 -2 -2\n");
    let free_output = said(&mut command("refused"));
    assert!(
        free_output.starts_with("0 0 ") && !free_output.contains('-'),
        "{free_output}"
    );

    succeeded(&mut command("number"));
    let aborted = sandboxed(command("number")).output().expect("it starts");
    assert_eq!(aborted.status.signal(), Some(libc::SIGABRT));
    let output = String::from_utf8_lossy(&aborted.stderr);
    assert!(
        output.starts_with("squall: no source of randomness: "),
        "{output}"
    );
    assert!(aborted.stdout.is_empty());
}

/// The control is a program that does not say so. Only x86 has the switch.
fn a_program_that_avoids_the_cycle_counter_may_switch_it_off() {
    let program = Program::of("tests/c/draws.c", Linked::Dynamic);
    succeeded(program.command().arg("counter"));
    let untold = program.command().args(["counter", "untold"]).status();
    let expected = cfg!(target_arch = "x86_64").then_some(libc::SIGSEGV);
    assert_eq!(untold.expect("it starts").signal(), expected);
}

pub const TESTS: &[Test] = tests![
    functions_return_what_the_header_promises: [PKG_CONFIG],
    threads_and_signal_handlers_draw_different_numbers: [PKG_CONFIG],
    requests_and_bytes_are_counted: [PKG_CONFIG],
    a_child_never_repeats_its_parent: [PKG_CONFIG],
    a_program_that_avoids_the_cycle_counter_may_switch_it_off: [PKG_CONFIG],
    without_randomness_functions_return_errors: [PKG_CONFIG],
];
