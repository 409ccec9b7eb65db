//! Tests the provider in OpenSSL: in the installed library, through its command and C programs
//! (`tests/programs/`), and in a core that a program imitates.

mod configuration;
mod library;
mod processes;
mod workspace;

use std::process::ExitCode;

use squall_testing::suite;

fn main() -> ExitCode {
    suite::main(&[configuration::TESTS, library::TESTS, processes::TESTS])
}
