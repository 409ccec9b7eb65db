//! What a name on the command line stands for: the file that would be executed, and whether the
//! loader would preload a library into it.

mod binary;
mod caller;
mod judge;
mod script;
mod search;
mod secure;

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use judge::judge;
use search::search;

#[derive(Debug)]
pub enum Refusal {
    /// It would run without squall: why, and what to use instead.
    Unreached(String),
    NotFound(String),
    NotExecutable(String),
}

impl Refusal {
    /// What an error of executing a program means, as env(1) has it.
    pub fn of(text: String, error: &io::Error) -> Refusal {
        match error.kind() {
            io::ErrorKind::NotFound => Refusal::NotFound(text),
            _ => Refusal::NotExecutable(text),
        }
    }
}

/// The file to execute for `name`, which was judged for this process.
///
/// # Errors
/// There is none, or squall would not reach it.
pub fn find(name: &OsStr, preload: &Path) -> Result<PathBuf, Refusal> {
    let path = search(name)?;
    judge(&path, preload)?;
    Ok(path)
}
