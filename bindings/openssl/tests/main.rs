//! The provider in OpenSSL: the real one that is installed here, by its command and by programs
//! in C (`tests/programs/`), and one that a program pretends to be.

mod artifacts;
mod configuration;
mod library;
mod processes;
mod workspace;

use std::process::ExitCode;

use squall_testing::suite;

fn main() -> ExitCode {
    suite::main(&[configuration::TESTS, library::TESTS, processes::TESTS])
}
