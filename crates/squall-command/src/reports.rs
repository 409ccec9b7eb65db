//! A report in the forms that were asked for, each in a file of its own, at most one of them on
//! standard output.

use std::path::Path;

use serde::Serialize;

use crate::sink::Sink;
use crate::{Failure, output};

/// The files that were asked for.
#[derive(Debug)]
pub struct Reports {
    json: Option<Sink>,
    csv: Option<Sink>,
    html: Option<Sink>,
}

impl Reports {
    /// Makes sure that all of them can be written.
    pub fn open(
        json: Option<&Path>,
        csv: Option<&Path>,
        html: Option<&Path>,
    ) -> Result<Reports, Failure> {
        let open = |path: Option<&Path>| path.map(Sink::open).transpose();
        let reports = Reports {
            json: open(json)?,
            csv: open(csv)?,
            html: open(html)?,
        };
        match reports.on_stdout() {
            ..2 => Ok(reports),
            _ => Err(Failure::Usage(
                "-: standard output is for one of --json, --csv and --html".into(),
            )),
        }
    }

    /// How many are standard output, which then has nothing else.
    pub fn on_stdout(&self) -> usize {
        let all = [&self.json, &self.csv, &self.html].into_iter().flatten();
        all.filter(|sink| sink.is_stdout()).count()
    }

    /// Writes all of them, and prints `text` unless one of them is standard output. What fails keeps
    /// the others from nothing, and a file that could not be written is told before a reader of
    /// standard output that has left.
    pub fn give(
        self,
        report: &impl Serialize,
        csv: impl FnOnce() -> Result<String, Failure>,
        html: impl FnOnce() -> String,
        text: impl FnOnce() -> String,
    ) -> Result<(), Failure> {
        let is_shown = self.on_stdout() == 0;
        let written = self.write(report, csv, html);
        let shown = match is_shown {
            true => output::print(&text()),
            false => Ok(()),
        };
        written.and(shown)
    }

    /// Writes all of them; one that fails keeps the others from nothing.
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
