//! The `squall-lab` command: parse, run, and tell how it ended.
//!
//! Exit codes: 0 for success and for a reader that has seen enough, 1 for a failure or a claim
//! that did not hold, 2 for a wrong argument. Every failure is one line on standard error.

#![deny(unsafe_code)]

use std::process::ExitCode;

use squall_lab::args::Command;
use squall_lab::failure::Failure;
use squall_lab::{attack, cost, usage};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

fn run() -> Result<(), Failure> {
    match usage::parse()? {
        Some(Command::Attack { attack }) => attack::run(&attack),
        Some(Command::Cost(options)) => cost::run(&options),
        None => Ok(()),
    }
}
