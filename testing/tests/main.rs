//! Runs the examples of the library, and unmodified programs with squall.

mod examples;
mod programs;

use std::process::ExitCode;

use squall_testing::suite;

fn main() -> ExitCode {
    suite::main(&[examples::TESTS, programs::TESTS])
}
