//! The destinations of reports: files, which appear only when complete, or standard output. Opening
//! one checks the directory before minutes are spent on a measurement.

use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::failure::{at, opening};
use crate::{Failure, output};

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
