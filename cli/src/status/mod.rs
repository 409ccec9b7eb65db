//! `squall status`: which protections of randomness this machine supports, and which it lacks.
//!
//! [`report`] gathers the facts and the warnings. [`human`] prints them for people; serialised, the
//! report is the JSON object that `--json` documents. [`counters`] shows a file of counters instead.

mod counters;
mod human;
mod report;
mod signals;
mod warnings;

use crate::args::StatusArguments;
pub use report::Report;
use squall_tools::Failure;
use squall_tools::output;

/// Prints the status of this machine, or the content of a file of counters.
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
