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
    match options.json {
        true => output::print_json(&report),
        false => output::print(&human::write(&report)),
    }
}

/// What benchmarks show of this machine.
pub fn view() -> Result<squall_bench::View, Failure> {
    let report = Report::now()?;
    let shown = report.warnings.iter().chain(&report.notes);
    Ok(squall_bench::View {
        hypervisor: report.hypervisor.filter(|_| report.is_vm),
        warnings: shown.map(|warning| warning.code.to_owned()).collect(),
    })
}
