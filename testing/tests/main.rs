//! What the fixtures are for: programs as they are.

mod programs;

use std::process::ExitCode;

use squall_testing::suite;

fn main() -> ExitCode {
    suite::main(&[programs::TESTS])
}
