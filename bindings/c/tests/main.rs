//! Tests libsquall as C and C++ programs use it: installed, found by pkg-config, and run.
//!
//! The programs are in `tests/c` and `examples`.

mod compile;
mod counted;
mod examples;
mod fork;
mod functions;
mod header;
mod installed;
mod prepared;
mod sandbox;
mod streams;
mod unloaded;

use std::process::ExitCode;

use squall_testing::suite;

fn main() -> ExitCode {
    suite::main(&[
        counted::TESTS,
        examples::TESTS,
        fork::TESTS,
        functions::TESTS,
        header::TESTS,
        installed::TESTS,
        prepared::TESTS,
        sandbox::TESTS,
        streams::TESTS,
        unloaded::TESTS,
    ])
}
