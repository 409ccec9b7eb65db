//! How the command ends when it does not succeed: one line for a person, one code for a script.

use std::io;
use std::process::ExitCode;

/// Why the command ends early.
#[derive(Debug)]
pub enum Failure {
    /// An argument is wrong: what is wrong and what would be right.
    Usage(String),
    /// Something failed while running, or a claim did not hold: what, and why.
    Runtime(String),
    /// The reader of the output has closed it, which is its right.
    Closed,
}

impl Failure {
    /// What a failed write to standard output means.
    pub fn of_write(error: &io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::Closed,
            _ => Failure::Runtime(format!("standard output: {}", cause(error))),
        }
    }

    /// Prints the line and gives the exit code.
    pub fn report(self) -> ExitCode {
        let (message, code) = match self {
            Failure::Usage(message) => (message, 2),
            Failure::Runtime(message) => (message, 1),
            Failure::Closed => return ExitCode::SUCCESS,
        };
        let line = format!("squall-lab: {message}\n");
        // Standard error may be closed as well; then there is nobody to tell.
        let _ = io::Write::write_all(&mut io::stderr(), line.as_bytes());
        ExitCode::from(code)
    }
}

/// The system's words for an error, without its number.
fn cause(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((words, _)) => words.to_owned(),
        None => text,
    }
}
