//! No source of randomness: functions say so, and numbers, which cannot, end the program.

use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use crate::compile::{Linked, Program, succeed, text};

#[path = "../../../../cli/tests/common/refuse.rs"]
mod refuse;
use refuse::{Refusal, refusing};

/// `command` where neither getrandom(2) nor a file can be had.
fn sandboxed(command: Command) -> Command {
    let refusal = |call| Refusal {
        call,
        when: None,
        errno: libc::EPERM,
    };
    let calls = [libc::SYS_getrandom, libc::SYS_openat].map(refusal);
    refusing(command, &calls)
}

#[test]
fn no_randomness_is_an_error_and_no_bytes() {
    // With everything in it: the loader opens files.
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
