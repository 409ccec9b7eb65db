//! Without a source of randomness, functions return an error; functions that return a number cannot,
//! and end the program. A program that switches its cycle counter off draws on if it says so before.

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

fn without_randomness_functions_return_errors() {
    // Fully static, because the dynamic loader opens files.
    let program = Program::of("tests/c/refused.c", Linked::FullyStatic);
    let sandboxed_output = succeed(&mut sandboxed(program.command()));
    assert_eq!(text(&sandboxed_output.stdout), "-2 -2 -2\n");
    let free_output = text(&succeed(&mut program.command()).stdout);
    assert!(
        free_output.starts_with("0 0 ") && !free_output.contains('-'),
        "{free_output}"
    );

    let mut number = program.command();
    number.arg("number");
    succeed(&mut number);
    let aborted = sandboxed(number).output().expect("it starts");
    assert_eq!(aborted.status.signal(), Some(libc::SIGABRT));
    let output = text(&aborted.stderr);
    assert!(
        output.starts_with("squall: no source of randomness: "),
        "{output}"
    );
    assert!(aborted.stdout.is_empty());
}

/// The control is a program that does not say so. Only x86 has the switch.
fn a_program_that_avoids_the_cycle_counter_may_switch_it_off() {
    let program = Program::of("tests/c/counter.c", Linked::Dynamic);
    succeed(&mut program.command());
    let untold = program.command().arg("untold").status().expect("it starts");
    let expected = cfg!(target_arch = "x86_64").then_some(libc::SIGSEGV);
    assert_eq!(untold.signal(), expected);
}

pub const TESTS: &[Test] = tests![
    a_program_that_avoids_the_cycle_counter_may_switch_it_off: [PKG_CONFIG],
    without_randomness_functions_return_errors: [PKG_CONFIG],
];
