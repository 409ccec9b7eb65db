//! What squall's tools share, in processes.

mod reports;

use std::process::ExitCode;

use squall_testing::suite;

fn main() -> ExitCode {
    suite::main(&[reports::TESTS])
}
