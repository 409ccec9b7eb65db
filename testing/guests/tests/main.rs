//! Tests guests, and what fetches the programs that they need.

mod deps;
mod guests;

use std::process::ExitCode;

use squall_testing::suite;

fn main() -> ExitCode {
    suite::main(&[guests::TESTS, deps::TESTS])
}
