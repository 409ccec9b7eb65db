//! Programs in C with libsquall-preload.so and without it: what they say is the same, and the
//! counters tell who served them.

mod kit;
mod protections;
mod symbols;
mod unchanged;

use std::process::ExitCode;

use squall_testing::suite;

fn main() -> ExitCode {
    suite::main(&[protections::TESTS, unchanged::TESTS, symbols::TESTS])
}
