//! Finds the file that a program's name stands for, and checks whether the loader would preload a
//! library into it.

mod binary;
mod preloadable;
mod script;
mod search;

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use preloadable::check_preloadable;
use search::search;

#[derive(Debug)]
pub enum Refusal {
    /// The program would run without squall; the text says why, and what to use instead.
    PreloadIneffective(String),
    NotFound(String),
    NotExecutable(String),
}

impl Refusal {
    /// The refusal for an error when executing a program, with the distinction of env(1).
    pub fn from_error(text: String, error: &io::Error) -> Refusal {
        match error.kind() {
            io::ErrorKind::NotFound => Refusal::NotFound(text),
            _ => Refusal::NotExecutable(text),
        }
    }
}

/// The file to execute for `name`, checked for this process.
///
/// # Errors
/// There is no such program, or `preload` would have no effect on it.
pub fn find(name: &OsStr, preload: &Path) -> Result<PathBuf, Refusal> {
    let path = search(name)?;
    check_preloadable(&path, preload)?;
    Ok(path)
}
