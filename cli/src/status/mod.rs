//! `squall status`: what this machine gives to keep randomness unique, and what it lacks.
//!
//! [`report`] gathers facts and names what is missing; [`human`] writes them for people; the
//! report's own fields are the JSON object that `--json` documents. [`counters`] shows instead what
//! programs drew.

mod counters;
mod human;
mod machine;
mod report;
mod warnings;

use crate::args::StatusArguments;
pub use report::Report;
use squall_tools::Failure;
use squall_tools::output;

/// Prints the status of this machine, or what a file of counters holds.
pub fn run(options: &StatusArguments) -> Result<(), Failure> {
    if let Some(file) = &options.counters {
        return counters::show(file, options.json);
    }
    let report = Report::now()?;
    if options.json {
        output::print_json(&report)
    } else {
        output::print(&human::write(&report))
    }
}
