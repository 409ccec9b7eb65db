//! The `squall-lab` command: parses arguments, runs the command, and reports how it ended.
//!
//! Exit code 1 also means that a claim did not hold.

#![deny(unsafe_code)]

use std::process::ExitCode;

use squall_lab::args::Arguments;

fn main() -> ExitCode {
    squall_bench::sources::add(squall_lab::sources::ENTRIES);
    let given = |given: Arguments| given.command;
    squall_tool_base::run("squall-lab", given, |command| squall_lab::run(&command))
}
