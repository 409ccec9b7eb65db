//! The report on a drive when its job is over: a record for programs, and a page for people, beside the journal.

mod facts;
mod page;
#[cfg(test)]
mod tests;

use std::io;
use std::path::Path;

use jiff::Timestamp;
use squall_tool_base::failure::cause;
use squall_tool_base::{Failure, output};

use crate::journal::{self, Journal};
use crate::record::{FORMAT, Job};
use crate::show::OutputStyle;
use crate::show::json::{Event, Line};

use page::{html, job_html};

/// The report on the drive of this number: the job, with this drive alone.
pub fn record(job: &Job, drive: usize) -> Job {
    Job {
        drives: vec![job.drives[drive].clone()],
        ..whole(job)
    }
}

pub fn whole(job: &Job) -> Job {
    Job {
        format: FORMAT.into(),
        ..job.clone()
    }
}

const MODE: u32 = 0o644;

/// Writes the report of each drive of `job`, and one of the whole job if it has several drives; each as
/// JSON and as a page. A report that cannot be written goes to standard output, and is a failure; the
/// others are written all the same.
pub fn write(journal: &Journal, job: &Job, style: OutputStyle) -> Result<(), Failure> {
    let mut result = Ok(());
    for drive in 0..job.drives.len() {
        let written = write_one(&journal.report_path(drive), &record(job, drive), style);
        result = result.and(written);
    }
    if job.drives.len() > 1 {
        let record = whole(job);
        let files: Vec<_> = (0..job.drives.len())
            .map(|drive| journal.report_path(drive))
            .collect();
        let page = job_html(&record, &files);
        let written = put_or_print(&journal.job_report_path(), &record, &page, style);
        result = result.and(written);
    }
    result
}

/// Writes `record`, the report of one drive, to `path`, and a page beside it.
pub fn write_one(path: &Path, record: &Job, style: OutputStyle) -> Result<(), Failure> {
    put_or_print(path, record, &html(record, 0), style)
}

fn put_or_print(path: &Path, record: &Job, page: &str, style: OutputStyle) -> Result<(), Failure> {
    let Err(error) = put(path, record, page) else {
        return Ok(());
    };
    let reason = format!(
        "{}: {}: the report is on standard output",
        path.display(),
        cause(&error)
    );
    print(record, style).and(Err(Failure::Runtime(reason)))
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

pub fn event(report: &Job) -> Result<String, Failure> {
    Line::new(Timestamp::now(), Event::Report { report }).text()
}
