//! `squall status`: what this machine gives to keep randomness unique, and what it lacks.
//!
//! [`report`] gathers facts and names what is missing; [`human`] writes them for people; the
//! report's own fields are the JSON object that `--json` documents.

mod human;
mod machine;
mod report;
mod warnings;

use crate::args::StatusArguments;
use report::Report;
use squall_command::Failure;
use squall_command::output;

/// Prints the status of this machine.
pub fn run(options: &StatusArguments) -> Result<(), Failure> {
    let report = Report::now()?;
    let text = match options.json {
        true => serde_json::to_string_pretty(&report)
            .map(|json| json + "\n")
            .map_err(|error| Failure::Runtime(error.to_string()))?,
        false => human::write(&report),
    };
    output::print(&text)
}
