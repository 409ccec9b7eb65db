//! Tests libsquall as C and C++ programs use it: installed, found by pkg-config, and run.
//!
//! The programs are in `tests/c` and `examples`.

mod compile;
mod examples;
mod functions;
mod header;
mod installed;
mod streams;

use std::process::ExitCode;

use squall_testing::suite;

fn main() -> ExitCode {
    suite::main(&[
        examples::TESTS,
        functions::TESTS,
        header::TESTS,
        installed::TESTS,
        streams::TESTS,
    ])
}
