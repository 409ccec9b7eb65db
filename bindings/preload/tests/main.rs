//! Runs C programs with and without libsquall-preload.so. They must print the same, and the counters
//! show whether the library served them.

mod kit;
mod protections;
mod symbols;
mod unchanged;

use std::process::ExitCode;

use squall_testing::suite;

fn main() -> ExitCode {
    suite::main(&[protections::TESTS, unchanged::TESTS, symbols::TESTS])
}
