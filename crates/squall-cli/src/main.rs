//! The `squall` command: parse, run, and tell how it ended.
//!
//! Exit codes: 0 for success and for a reader that has seen enough, 1 for a failure while
//! running, 2 for a wrong argument. Every failure is one line on standard error.

#![deny(unsafe_code)]

mod args;
mod failure;
mod output;
mod progress;
mod seed;
mod status;
mod stream;
mod usage;

use std::process::ExitCode;

use args::Command;
use failure::Failure;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

fn run() -> Result<(), Failure> {
    match usage::parse()? {
        Some(Command::Stream(options)) => stream::run(options),
        Some(Command::Status(options)) => status::run(&options),
        Some(Command::Seed(options)) => seed::run(&options),
        None => Ok(()),
    }
}
