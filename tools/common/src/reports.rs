//! Writes a report in the forms that the user asked for: JSON in place of the text on standard output,
//! and files.

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

    /// Writes every form, and prints `text` unless a form goes to standard output. One failure does not
    /// stop the others. A file that cannot be written is reported before a reader who closed standard
    /// output.
    pub fn give(
        self,
        report: &impl Serialize,
        csv: impl FnOnce() -> Result<String, Failure>,
        html: impl FnOnce() -> String,
        text: impl FnOnce() -> String,
    ) -> Result<(), Failure> {
        let is_shown = self.on_stdout() == 0;
        let written = self.write(report, csv, html);
        let shown = if is_shown {
            output::print(&text())
        } else {
            Ok(())
        };
        written.and(shown)
    }

    /// Writes every form; one failure does not stop the others.
    fn write(
        self,
        report: &impl Serialize,
        csv: impl FnOnce() -> Result<String, Failure>,
        html: impl FnOnce() -> String,
    ) -> Result<(), Failure> {
        let json = || {
            let json = serde_json::to_string(report);
            let json = json.map_err(|error| Failure::Runtime(format!("report: {error}")))?;
            Ok(json + "\n")
        };
        let written = [
            write(self.json, json),
            write(self.csv, csv),
            write(self.html, || Ok(html())),
        ];
        written.into_iter().collect()
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
