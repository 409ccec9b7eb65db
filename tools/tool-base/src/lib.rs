//! What squall's command and tools share: reading arguments, writing output, exit codes, and
//! [measure].
//!
//! Exit codes: 0 for success, also if the reader closed the output; 1 for a failure while running; 2
//! for a wrong argument. Every failure is one line on standard error.

#![deny(unsafe_code)]

#[cfg(feature = "columns")]
pub mod columns;
pub mod failure;
pub mod in_child;
pub mod inherited;
pub mod interrupt;
#[cfg(feature = "loaded")]
pub mod loaded;
pub mod measure;
pub mod named_file;
pub mod number;
pub mod output;
pub mod pace;
#[cfg(feature = "places")]
pub mod places;
#[cfg(feature = "report")]
pub mod report;
pub mod reports;
pub mod retry;
#[cfg(feature = "schema")]
pub mod schema;
pub mod size;
pub mod terminal;
pub mod text;
pub mod time;
pub mod units;
pub mod usage;

pub use failure::Failure;
pub use interrupt::{Inquiry, Interrupt};

use std::process::ExitCode;

/// Whether there is a file of this name in the search path of programs.
pub fn is_in_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(program).is_file())
}

/// Runs the command `name` on the subcommand that `given` takes out of its arguments; shows its help if
/// there is none.
pub fn run<A: clap::Parser, C>(
    name: &str,
    given: fn(A) -> Option<C>,
    command: impl FnOnce(C) -> Result<(), Failure>,
) -> ExitCode {
    interrupt::report_limits(name);
    let run = || match usage::parse(given)? {
        Some(given) => command(given),
        None => Ok(()),
    };
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(name),
    }
}
