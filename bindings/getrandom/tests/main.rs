//! This program draws through other crates, and is a program that uses squall-getrandom.

mod callers;
mod linking;
mod processes;
mod results;

use std::process::ExitCode;

use squall_testing::suite;

fn main() -> ExitCode {
    if callers::is_child() {
        callers::draw_and_count();
        return ExitCode::SUCCESS;
    }
    if let Some(child) = processes::child() {
        processes::draw_around_sandbox(&child);
        return ExitCode::SUCCESS;
    }
    suite::main(&[
        callers::TESTS,
        results::TESTS,
        processes::TESTS,
        linking::TESTS,
    ])
}
