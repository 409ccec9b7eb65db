//! Writes reports to standard output, and to files that are either complete or absent.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use squall_tools::Failure;
use squall_tools::failure::at;
use squall_tools::output::{print, print_json};
use tempfile::NamedTempFile;

use crate::analysis::{Campaign, markdown};

/// More bytes than a report needs.
const NEEDED_SPACE: usize = 1 << 20;

/// Checks that reports can be written to `directory`, so that a run of hours is not lost.
pub fn check_directory(directory: &Path) -> Result<(), Failure> {
    if directory.exists() && !directory.is_dir() {
        return Err(at(directory)(io::ErrorKind::NotADirectory.into()));
    }
    fs::create_dir_all(directory)
        .and_then(|()| NamedTempFile::new_in(directory))
        .and_then(|mut file| file.write_all(&vec![0; NEEDED_SPACE]))
        .map_err(at(directory))
}

/// Prints the report, as JSON if asked for.
pub fn show(campaign: &Campaign, json: bool) -> Result<(), Failure> {
    if json {
        print_json(campaign)
    } else {
        print(&markdown(campaign))
    }
}

/// Writes `NAME.json` and `NAME.md` to `directory`. If there is no room for both, it writes none.
pub fn write(campaign: &Campaign, directory: &Path, name: &str) -> Result<(), Failure> {
    let json = serde_json::to_string_pretty(campaign)
        .map_err(|error| Failure::Runtime(format!("report: {error}")))?;
    let files = [
        (format!("{name}.json"), json + "\n"),
        (format!("{name}.md"), markdown(campaign)),
    ];
    let written = files
        .into_iter()
        .map(|(name, text)| write_temporary(directory.join(name), &text))
        .collect::<Result<Vec<_>, _>>()?;
    for (file, path) in written {
        file.persist(&path)
            .map_err(|error| at(&path)(error.error))?;
    }
    Ok(())
}

/// Writes the contents for `path` to a temporary file in the same directory.
fn write_temporary(path: PathBuf, text: &str) -> Result<(NamedTempFile, PathBuf), Failure> {
    let directory = path.parent().unwrap_or(Path::new("."));
    let write = || -> io::Result<NamedTempFile> {
        let mut file = tempfile::Builder::new()
            .permissions(permissions())
            .tempfile_in(directory)?;
        file.write_all(text.as_bytes())?;
        Ok(file)
    };
    match write() {
        Ok(file) => Ok((file, path)),
        Err(error) => Err(at(&path)(error)),
    }
}

/// Permissions of a file that anyone may read; the umask applies.
fn permissions() -> fs::Permissions {
    std::os::unix::fs::PermissionsExt::from_mode(0o666)
}
