//! Writes a report in the forms that the user asked for: JSON in place of the text on standard output,
//! and files.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use crate::sink::Sink;
use crate::{Failure, output};

/// How a user asks for a report that is for programs.
#[derive(Args, Clone, Debug, Default)]
pub struct ReportArguments {
    /// Print only JSON on standard output
    #[arg(long, conflicts_with = "export_json")]
    pub json: bool,

    /// Write the report to this file as JSON; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub export_json: Option<PathBuf>,

    /// Write the figures to this file as comma-separated values; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub export_csv: Option<PathBuf>,
}

/// The forms of a report that the user asked for.
#[derive(Debug)]
pub struct Reports {
    json: Option<Sink>,
    csv: Option<Sink>,
    html: Option<Sink>,
}

impl Reports {
    /// Makes sure that every form can be written; `html` is the file for the page, if any.
    pub fn open(options: &ReportArguments, html: Option<&Path>) -> Result<Reports, Failure> {
        output::check()?;
        let open = |path: Option<&Path>| path.map(Sink::open).transpose();
        let json = if options.json {
            Some(Path::new("-"))
        } else {
            options.export_json.as_deref()
        };
        let reports = Reports {
            json: open(json)?,
            csv: open(options.export_csv.as_deref())?,
            html: open(html)?,
        };
        match reports.on_stdout() {
            ..2 => Ok(reports),
            _ => Err(Failure::Usage(
                "standard output takes one report: write the others to files".into(),
            )),
        }
    }

    /// How many forms go to standard output, which then has no text.
    pub fn on_stdout(&self) -> usize {
        let all = [&self.json, &self.csv, &self.html].into_iter().flatten();
        all.filter(|sink| sink.is_stdout()).count()
    }

    /// Writes every form of `report`, and prints `text` unless a form goes to standard output. `lines` are those of
    /// the CSV; their fields are the columns. One failure does not stop the others. A file that cannot be
    /// written is reported before a reader who closed standard output.
    pub fn give<L: Serialize>(
        self,
        report: &impl Serialize,
        lines: impl FnOnce() -> Vec<L>,
        page: impl FnOnce() -> String,
        text: impl FnOnce() -> String,
    ) -> Result<(), Failure> {
        let is_shown = self.on_stdout() == 0;
        let json = || {
            let json = serde_json::to_string(report);
            let json = json.map_err(|error| Failure::Runtime(format!("report: {error}")))?;
            Ok(json + "\n")
        };
        let written = [
            write(self.json, json),
            write(self.csv, || csv(lines())),
            write(self.html, || Ok(page())),
        ];
        let written: Result<(), Failure> = written.into_iter().collect();
        let shown = if is_shown {
            output::print(&text())
        } else {
            Ok(())
        };
        written.and(shown)
    }
}

fn write(
    sink: Option<Sink>,
    text: impl FnOnce() -> Result<String, Failure>,
) -> Result<(), Failure> {
    match sink {
        Some(sink) => sink.write(&text()?),
        None => Ok(()),
    }
}

/// The text of comma-separated `lines`, whose fields are the columns. The first line has the column names; missing
/// values are empty.
///
/// # Errors
/// A line cannot be written.
pub fn csv(lines: impl IntoIterator<Item = impl Serialize>) -> Result<String, Failure> {
    let failure = |error: &dyn Display| Failure::Runtime(format!("CSV: {error}"));
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    for line in lines {
        writer.serialize(line).map_err(|error| failure(&error))?;
    }
    let bytes = writer
        .into_inner()
        .map_err(|error| failure(&error.into_error()))?;
    String::from_utf8(bytes).map_err(|error| failure(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct Line {
        name: &'static str,
        count: Option<u32>,
    }

    #[test]
    fn columns_have_the_names_of_fields() {
        let lines = [("a, b", Some(7)), ("c", None)].map(|(name, count)| Line { name, count });
        let text = csv(lines).expect("it is written");
        assert_eq!(text, "name,count\n\"a, b\",7\nc,\n");
    }
}
