//! Puts the reports of a job beside its journal.

use std::io;
use std::path::Path;

use jiff::Timestamp;
use squall_tools::failure::cause;
use squall_tools::{Failure, output};

use crate::journal::{self, Journal};
use crate::record::Job;
use crate::report;
use crate::show::OutputStyle;
use crate::show::json::{Event, Line};

/// File mode of reports.
const MODE: u32 = 0o644;

/// Writes the report of each drive of `job`, as JSON and as a page. A report that cannot be written
/// goes to standard output, and is a failure; the others are written all the same.
pub fn write(journal: &Journal, job: &Job, style: OutputStyle) -> Result<(), Failure> {
    let mut result = Ok(());
    for drive in 0..job.drives.len() {
        let path = journal.report_path(drive);
        let record = report::record(job, drive);
        let page = report::html(job, drive);
        if let Err(error) = put(&path, &record, &page) {
            let shown = print(&record, style);
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

fn put(path: &Path, record: &Job, page: &str) -> io::Result<()> {
    journal::replace(path, json(record).as_bytes(), MODE)?;
    journal::replace(&path.with_extension("html"), page.as_bytes(), MODE)
}

/// Prints a report; for programs, as an event on one line.
fn print(record: &Job, style: OutputStyle) -> Result<(), Failure> {
    output::print(&match style {
        OutputStyle::Json => event(record)?,
        OutputStyle::Screen | OutputStyle::Log => json(record),
    })
}

fn json(record: &Job) -> String {
    let json = serde_json::to_string_pretty(record);
    json.expect("a record is text, as the journal had to have it too") + "\n"
}

/// A report as an event.
pub fn event(report: &Job) -> Result<String, Failure> {
    Line::new(Timestamp::now(), Event::Report { report }).text()
}
