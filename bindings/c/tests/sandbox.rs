//! Without a source of randomness, functions return an error; functions that return a number cannot,
//! and end the program.

use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use squall_testing::refuse::{Refusal, refusing};
use squall_testing::suite::Test;
use squall_testing::tests;

use crate::compile::{Linked, PKG_CONFIG, Program, succeed, text};

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

fn no_randomness_is_an_error_and_no_bytes() {
    // Fully static, because the dynamic loader opens files.
    let program = Program::of("tests/c/refused.c", Linked::Alone);
    let refused = succeed(&mut sandboxed(program.command()));
    assert_eq!(text(&refused.stdout), "-2 -2 -2\n");
    let free = text(&succeed(&mut program.command()).stdout);
    assert!(free.starts_with("0 0 ") && !free.contains('-'), "{free}");

    let mut number = program.command();
    number.arg("number");
    succeed(&mut number);
    let aborted = sandboxed(number).output().expect("it starts");
    assert_eq!(aborted.status.signal(), Some(libc::SIGABRT));
    let said = text(&aborted.stderr);
    assert!(
        said.starts_with("squall: no source of randomness: "),
        "{said}"
    );
    assert!(aborted.stdout.is_empty());
}

pub const TESTS: &[Test] = tests![
    no_randomness_is_an_error_and_no_bytes: [PKG_CONFIG],
];
