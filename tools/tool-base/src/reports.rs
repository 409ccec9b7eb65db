//! Writes a report in the forms that the user asked for: JSON in place of the text on standard output, and files, which
//! appear only when complete. Opening one checks its directory before minutes are spent on a measurement.

use std::fmt::Display;
use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use serde_json::Value;
use tempfile::NamedTempFile;

use crate::failure::{at, opening};
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
    /// the CSV. One failure does not stop the others. A file that cannot be
    /// written is reported before a reader who closed standard output.
    pub fn give(
        self,
        report: &impl Serialize,
        lines: impl FnOnce() -> Vec<Line>,
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

/// A line of comma-separated values: names of columns with their values, of which null is left empty.
pub type Line = Vec<(&'static str, Value)>;

/// The text of comma-separated `lines`, which have the same columns. The first line has the columns' names.
pub fn csv(lines: impl IntoIterator<Item = Line>) -> Result<String, Failure> {
    let failure = |error: &dyn Display| Failure::Runtime(format!("CSV: {error}"));
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    let mut write = |record: Vec<String>| {
        let written = writer.write_record(record);
        written.map_err(|error| failure(&error))
    };
    let mut lines = lines.into_iter().peekable();
    if let Some(line) = lines.peek() {
        write(line.iter().map(|(name, _)| (*name).to_owned()).collect())?;
    }
    for line in lines {
        write(line.into_iter().map(|(_, value)| field(value)).collect())?;
    }
    let bytes = writer
        .into_inner()
        .map_err(|error| failure(&error.into_error()))?;
    String::from_utf8(bytes).map_err(|error| failure(&error))
}

fn field(value: Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text,
        other => other.to_string(),
    }
}

/// The destination of a report: a file or standard output.
#[derive(Debug)]
pub struct Sink {
    path: PathBuf,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Stdout,
    /// A temporary file in the same directory, which will be renamed.
    Aside(NamedTempFile),
    /// An existing pipe or device, which is written to and not replaced.
    Special(File),
}

impl Sink {
    /// Makes sure that `path` can be written to; `-` means standard output.
    pub fn open(path: &Path) -> Result<Sink, Failure> {
        let kind = if path == Path::new("-") {
            Kind::Stdout
        } else {
            kind(path).map_err(opening(path))?
        };
        Ok(Sink {
            path: path.to_owned(),
            kind,
        })
    }

    pub fn is_stdout(&self) -> bool {
        matches!(self.kind, Kind::Stdout)
    }

    pub fn write(self, text: &str) -> Result<(), Failure> {
        let written = match self.kind {
            Kind::Stdout => return output::print(text),
            Kind::Special(mut file) => file.write_all(text.as_bytes()),
            Kind::Aside(mut file) => file
                .write_all(text.as_bytes())
                .and_then(|()| persist(file, &self.path)),
        };
        written.map_err(at(&self.path))
    }
}

/// Moves the file to `path`. If that is a link, its target is replaced.
fn persist(file: NamedTempFile, path: &Path) -> io::Result<()> {
    let place = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    file.persist(place).map(drop).map_err(|error| error.error)
}

fn kind(path: &Path) -> io::Result<Kind> {
    match fs::metadata(path) {
        Ok(about) if about.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(about) if !about.is_file() => Ok(Kind::Special(File::options().write(true).open(path)?)),
        Ok(_) => beside(&path.canonicalize()?).map(Kind::Aside),
        Err(_) => beside(path).map(Kind::Aside),
    }
}

fn beside(path: &Path) -> io::Result<NamedTempFile> {
    let directory = match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    tempfile::Builder::new()
        .prefix(".squall-")
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(directory)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_line_has_the_names_of_columns() {
        let lines = [("a, b", Some(7.0)), ("c", None)];
        let lines = lines.map(|(name, part)| vec![("name", json!(name)), ("part", json!(part))]);
        let text = csv(lines).expect("it is written");
        assert_eq!(text, "name,part\n\"a, b\",7.0\nc,\n");
    }
}
