//! Puts the reports of a job beside its journal.

use std::io;
use std::path::Path;

use jiff::Timestamp;
use serde_json::{Value, json};
use squall_tools::failure::cause;
use squall_tools::{Failure, output};

use crate::journal::{self, Journal};
use crate::record::Job;
use crate::report;
use crate::show::OutputStyle;
use crate::show::json::{Name, line};

/// File mode of reports.
const MODE: u32 = 0o644;

/// Writes the report of each drive of `job`, as JSON and as a page. A report that cannot be written
/// goes to standard output, and is a failure; the others are written all the same.
pub fn write(journal: &Journal, job: &Job, style: OutputStyle) -> Result<(), Failure> {
    let mut result = Ok(());
    for drive in 0..job.drives.len() {
        let path = journal.report_path(drive);
        let text = report::json(job, drive) + "\n";
        let page = report::html(job, drive);
        if let Err(error) = put(&path, &text, &page) {
            let shown = print(&text, style);
            let reason = format!(
                "{}: {}: the report is on standard output",
                path.display(),
                cause(&error)
            );
            result = result.and(shown).and(Err(Failure::Runtime(reason)));
        }
    }
    result
}

fn put(path: &Path, text: &str, page: &str) -> io::Result<()> {
    journal::replace(path, text.as_bytes(), MODE)?;
    journal::replace(&path.with_extension("html"), page.as_bytes(), MODE)
}

/// Prints a report; for programs, as an event on one line.
fn print(text: &str, style: OutputStyle) -> Result<(), Failure> {
    match style {
        OutputStyle::Json => output::print(&event(text)?),
        OutputStyle::Screen | OutputStyle::Log => output::print(text),
    }
}

/// A report as an event.
pub fn event(text: &str) -> Result<String, Failure> {
    let report: Value = serde_json::from_str(text).unwrap_or_default();
    line(
        Timestamp::now(),
        Name::Report,
        None,
        json!({ "report": report }),
    )
}
