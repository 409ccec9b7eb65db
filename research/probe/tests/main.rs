//! The probe with other programs.

mod hello;

use std::process::ExitCode;

use squall_testing::suite;

fn main() -> ExitCode {
    suite::main(&[hello::TESTS])
}
