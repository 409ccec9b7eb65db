//! Everything that the crate's tests look at from outside, in one program, which is also each child
//! that a test starts.

mod article;
mod battery;
mod browser;
mod child;
mod compare;
mod fixture;
mod go_program;
mod process;
mod repeats;
mod report;
mod served;
mod sources;
mod unresponsive;

use std::process::ExitCode;

use squall_bench::go::{self, Program};
use squall_testing::needs::{GO, TEST_ALL};
use squall_testing::suite;
use squall_tools::Failure;

fn main() -> ExitCode {
    if let Some(served) = child::serve() {
        return served;
    }
    // Tests that mostly wait come first: the others run meanwhile.
    suite::main(&[
        unresponsive::TESTS,
        article::TESTS,
        battery::TESTS,
        browser::TESTS,
        compare::TESTS,
        go_program::TESTS,
        process::TESTS,
        report::TESTS,
        served::TESTS,
        sources::TESTS,
    ])
}

/// Go's program, which is built if it is not there yet.
fn go() -> Program {
    go::program("go".as_ref(), true).expect("Go builds its program")
}

/// The message of a failure.
#[track_caller]
fn message<T>(result: Result<T, Failure>) -> String {
    match result {
        Err(Failure::Runtime(message)) => message,
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("it did not fail"),
    }
}
