//! Programs in C with libsquall-preload.so and without it: what they say is the same, and the
//! counters tell who served them.

mod kit;
mod protections;
mod same;
mod symbols;

use std::process::ExitCode;

use squall_testing::suite;

fn main() -> ExitCode {
    suite::main(&[protections::TESTS, same::TESTS, symbols::TESTS])
}
