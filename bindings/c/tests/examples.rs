//! Compiles the examples with each way of linking, and runs them; one also runs under valgrind.

use std::process::Command;

use squall_testing::artifacts;
use squall_testing::needs::{CXX_COMPILER, TEST_ALL, VALGRIND};
use squall_testing::suite::Test;
use squall_testing::tests;
use squall_testing::workspace::{said, succeeded};

use crate::compile::{Linked, PKG_CONFIG, Program, output_with};

const ALL_LINKS: [Linked; 3] = [Linked::Dynamic, Linked::Static, Linked::FullyStatic];

const KEY: &str = "6ddfb0ce47cb0617a86f02e36afb68976609ebd71527a1e245f45b5039999fa1";

fn tokens() {
    for linked in ALL_LINKS {
        let program = Program::of("examples/tokens.c", linked);
        let output = said(program.command().arg("9"));
        let lines: Vec<&str> = output.lines().collect();
        assert_eq!(lines.len(), 10, "{linked:?}: {output}");
        let mut tokens = lines[..9].to_vec();
        let is_hex = |token: &&str| token.len() == 32 && u128::from_str_radix(token, 16).is_ok();
        assert!(tokens.iter().all(is_hex), "{output}");
        tokens.sort_unstable();
        tokens.dedup();
        assert_eq!(tokens.len(), 9);
        assert_eq!(
            lines[9].split('-').map(str::len).collect::<Vec<_>>(),
            [5; 4]
        );
    }
}

fn shuffle() {
    for linked in ALL_LINKS {
        let program = Program::of("examples/shuffle.c", linked);
        let numbers: String = (100..200).map(|number| format!("{number}\n")).collect();
        let shuffled = output_with(&mut program.command(), &numbers);
        let shuffled = String::from_utf8(shuffled).expect("text");
        assert_ne!(shuffled, numbers);
        let mut lines: Vec<&str> = shuffled.lines().collect();
        lines.sort_unstable();
        assert_eq!(lines, numbers.lines().collect::<Vec<_>>());
    }
}

/// The command gives the same bytes.
fn stream() {
    let mut command = Command::new(artifacts::command());
    command.args(["stream", "--seed", KEY, "--size", "200005"]);
    let expected = succeeded(&mut command).stdout.split_off(5);
    for linked in ALL_LINKS {
        let program = Program::of("examples/stream.c", linked);
        let output = succeeded(program.command().args([KEY, "5", "200000"]));
        assert!(output.stdout == expected, "{linked:?}");
        let usage = program.command().output().expect("it starts");
        assert_eq!(usage.status.code(), Some(2));
    }
}

fn simulation() {
    for linked in ALL_LINKS {
        let program = Program::of("examples/simulation.cpp", linked);
        let output = said(&mut program.command());
        let pi = output
            .lines()
            .next()
            .and_then(|line| line.strip_prefix("pi: "));
        let pi: f64 = pi.expect("pi").parse().expect("a number");
        // Two million points: one standard deviation is 0.0012.
        assert!(
            (pi - std::f64::consts::PI).abs() < 0.01,
            "{linked:?}: {output}"
        );
        assert!(output.contains("height: "), "{output}");
    }
}

fn valgrind_finds_nothing() {
    for (source, arguments) in [
        ("examples/tokens.c", &["3"][..]),
        ("examples/stream.c", &[KEY, "5", "1000"]),
        ("tests/c/functions.c", &[]),
    ] {
        let program = Program::of(source, Linked::Dynamic);
        let mut command = Command::new("valgrind");
        command
            .args(["--quiet", "--error-exitcode=1", "--leak-check=full"])
            .arg(program.path())
            .args(arguments);
        succeeded(&mut command);
    }
}

pub const TESTS: &[Test] = tests![
    tokens: [PKG_CONFIG],
    shuffle: [PKG_CONFIG],
    stream: [PKG_CONFIG],
    simulation: [PKG_CONFIG, CXX_COMPILER],
    valgrind_finds_nothing: [TEST_ALL, PKG_CONFIG, VALGRIND],
];
