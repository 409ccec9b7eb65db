//! Tests unmodified programs with squall.

mod programs;

use std::process::ExitCode;

use squall_testing::suite;

fn main() -> ExitCode {
    suite::main(&[programs::TESTS])
}
