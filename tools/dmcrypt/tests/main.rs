//! `squall dmcrypt` on devices.

mod measure;

use std::process::ExitCode;

use squall_testing::suite;

fn main() -> ExitCode {
    suite::main(&[measure::TESTS])
}
