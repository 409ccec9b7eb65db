//! The `squall-lab` command: parse, run, and tell how it ended.
//!
//! Exit code 1 is also for a claim that did not hold.

#![deny(unsafe_code)]

use std::process::ExitCode;

use squall_lab::args::Arguments;

fn main() -> ExitCode {
    squall_bench::sources::add(squall_lab::sources::ENTRIES);
    squall_tools::run::<Arguments>("squall-lab", |command| squall_lab::run(&command))
}
