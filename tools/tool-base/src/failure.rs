//! How the command ends if it fails: one line for people, one exit code for scripts.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use serde::{Deserialize, Serialize};

use crate::text;

#[derive(Debug, Serialize, Deserialize)]
pub enum Failure {
    /// A wrong argument; the text says what is wrong and what would be right.
    Usage(String),
    /// A failure while running; the text says what failed and why.
    Runtime(String),
    /// The reader closed the output, which is not an error.
    Closed,
}

impl Failure {
    /// The failure for an error when writing to `name`.
    pub fn of_write(name: &str, error: &io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::Closed,
            _ => Failure::Runtime(format!("{name}: {}", cause(error))),
        }
    }

    /// The message, without the command's name.
    pub fn into_text(self) -> String {
        match self {
            Failure::Usage(text) | Failure::Runtime(text) => text,
            Failure::Closed => "its output was closed".into(),
        }
    }

    /// Prints the message after the command's name, and gives the exit code.
    pub fn report(self, command: &str) -> ExitCode {
        let (message, code) = match self {
            Failure::Usage(message) => (message, 2),
            Failure::Runtime(message) => (message, 1),
            Failure::Closed => return ExitCode::SUCCESS,
        };
        let line = format!("{command}: {}\n", text::in_a_line(&message));
        // If standard error is closed too, there is nobody to tell.
        let _ = io::Write::write_all(&mut io::stderr(), line.as_bytes());
        ExitCode::from(code)
    }
}

/// Makes a failure of an I/O error at `path`.
pub fn at(path: &Path) -> impl FnOnce(io::Error) -> Failure {
    move |error| Failure::Runtime(text_at(path, &error))
}

/// Like [`at`], for a path that an argument names and that cannot be opened: then the argument is wrong.
pub fn opening(path: &Path) -> impl FnOnce(io::Error) -> Failure {
    move |error| Failure::Usage(text_at(path, &error))
}

/// Like [`opening`], for a folder that cannot be created.
pub fn creating_folder(path: &Path) -> impl FnOnce(io::Error) -> Failure {
    move |error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            Failure::Usage(format!("{} is a file: name a folder", path.display()))
        }
        _ => opening(path)(error),
    }
}

/// The text for an I/O error at `path`.
pub fn text_at(path: &Path, error: &io::Error) -> String {
    let folder = match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => wrong_folder(path),
        _ => None,
    };
    let folder = folder.unwrap_or_default();
    format!("{}: {}{folder}", path.display(), cause(error))
}

/// The first folder in `path` that is missing or is no folder, as a clause.
fn wrong_folder(path: &Path) -> Option<String> {
    let named = |folder: &&Path| !folder.as_os_str().is_empty();
    let folders = path.ancestors().skip(1).filter(named);
    let wrong = folders.take_while(|folder| !folder.is_dir()).last()?;
    let shown = wrong.display();
    Some(match wrong.exists() {
        true => format!(": {shown} is not a folder"),
        false => format!(": there is no folder {shown}"),
    })
}

/// The system's text for an error, without its number.
pub fn cause(error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::FileTooLarge {
        return "File too large (see `ulimit -f`)".into();
    }
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((words, _)) => words.to_owned(),
        None => text,
    }
}
