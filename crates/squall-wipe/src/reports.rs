//! Puts the reports of a job beside its journal.

use squall_command::failure::cause;
use squall_command::{Failure, output};

use crate::journal::{self, Journal};
use crate::report;

/// Mode of the reports' files.
const MODE: u32 = 0o644;

/// Writes the report of each of `drives`, as JSON and as a page. One that cannot be written to its
/// place goes to standard output, and is a failure.
pub fn write(journal: &Journal, drives: impl Iterator<Item = usize>) -> Result<(), Failure> {
    let mut result = Ok(());
    for drive in drives {
        let job = journal.job().clone();
        let path = journal.report_path(drive);
        let text = report::json(&job, drive) + "\n";
        let written = journal::replace(&path, text.as_bytes(), MODE).and_then(|()| {
            let page = report::html(&job, drive);
            journal::replace(&path.with_extension("html"), page.as_bytes(), MODE)
        });
        if let Err(error) = written {
            output::print(&text)?;
            result = Err(Failure::Runtime(format!(
                "{}: {}: the report is on standard output",
                path.display(),
                cause(&error)
            )));
        }
    }
    result
}
