//! How the command ends when it does not succeed: one line for a person, one code for a script.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use crate::output;

#[derive(Debug)]
pub enum Failure {
    /// An argument is wrong: what is wrong and what would be right.
    Usage(String),
    /// Something failed while running: what, and why.
    Runtime(String),
    /// The reader of the output has closed it, which is its right.
    Closed,
}

impl Failure {
    /// What a failed write to `name` means.
    pub fn of_write(name: &str, error: &io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::Closed,
            _ => Failure::Runtime(format!("{name}: {}", cause(error))),
        }
    }

    /// The line, without the command's name.
    pub fn into_text(self) -> String {
        match self {
            Failure::Usage(text) | Failure::Runtime(text) => text,
            Failure::Closed => "its output was closed".into(),
        }
    }

    /// Prints the line, which begins with the command's name, and gives the exit code.
    pub fn report(self, command: &str) -> ExitCode {
        let (message, code) = match self {
            Failure::Usage(message) => (message, 2),
            Failure::Runtime(message) => (message, 1),
            Failure::Closed => return ExitCode::SUCCESS,
        };
        let line = format!("{command}: {}\n", output::in_a_line(&message));
        // Standard error may be closed as well; then there is nobody to tell.
        let _ = io::Write::write_all(&mut io::stderr(), line.as_bytes());
        ExitCode::from(code)
    }
}

/// Tells of an error at `path`.
pub fn at(path: &Path) -> impl FnOnce(io::Error) -> Failure {
    move |error| Failure::Runtime(format!("{}: {}", path.display(), cause(&error)))
}

/// The system's words for an error, without its number.
pub fn cause(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((words, _)) => words.to_owned(),
        None => text,
    }
}
