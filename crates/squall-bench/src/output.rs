//! Where reports go: files that are whole or not there, whose directories are looked at before
//! minutes are spent; or standard output.

use std::fs::Permissions;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use squall_command::failure::at;
use squall_command::{Failure, output};
use tempfile::NamedTempFile;

/// A file to be, or standard output.
#[derive(Debug)]
pub struct Sink {
    path: PathBuf,
    /// Beside the file that it will become; none for standard output.
    file: Option<NamedTempFile>,
}

impl Sink {
    /// Makes sure that `path` can be written to; `-` is standard output.
    pub fn open(path: &Path) -> Result<Sink, Failure> {
        let file = match path == Path::new("-") {
            true => None,
            false => Some(beside(path).map_err(at(path))?),
        };
        Ok(Sink {
            path: path.to_owned(),
            file,
        })
    }

    /// Whether this is standard output.
    pub fn is_stdout(&self) -> bool {
        self.file.is_none()
    }

    /// Writes all of `text`.
    pub fn write(self, text: &str) -> Result<(), Failure> {
        let Some(mut file) = self.file else {
            return output::print(text);
        };
        file.write_all(text.as_bytes())
            .and_then(|()| file.persist(&self.path).map_err(|error| error.error))
            .map(drop)
            .map_err(at(&self.path))
    }
}

fn beside(path: &Path) -> io::Result<NamedTempFile> {
    if path.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    let directory = match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    tempfile::Builder::new()
        .prefix(".squall-bench-")
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(directory)
}
