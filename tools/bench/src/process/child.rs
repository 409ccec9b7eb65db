//! This program as its own child: what it is asked to do, and how it answers.

use std::fmt;
use std::process::{Command, Output, Stdio};
use std::str::FromStr;

use squall_tools::Failure;
use squall_tools::failure::cause;
use squall_tools::output;

use super::{first_bytes, forks, pipe};

/// What a child is to do, in the words of [`Child`]'s `Display`.
const VARIABLE: &str = "SQUALL_BENCH_CHILD";

/// This very image, even if a build has replaced the file since.
pub const PROGRAM: &str = "/proc/self/exe";

/// The source that does nothing: what is measured besides a source. Every lookup has it.
pub const NOTHING: &str = "nothing";

/// Fills a buffer from a source.
pub type Fill = Box<dyn FnMut(&mut [u8])>;

/// Finds a source by its name. What is loaded or opened here is not measured; what a program must
/// do before it can draw (open a device, initialise a library) belongs in the first call.
pub type Lookup = fn(&str) -> Option<Fill>;

/// What a child is to do. Each names a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Child {
    /// Draw 32 bytes, once.
    FirstBytes(String),
    /// Fork, with children that draw so many bytes.
    Forks(String, usize),
    /// Write blocks of so many bytes to standard output, until it is closed.
    Pipe(String, usize),
}

impl fmt::Display for Child {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Child::FirstBytes(source) => write!(f, "first-bytes {source}"),
            Child::Forks(source, bytes) => write!(f, "forks {source} {bytes}"),
            Child::Pipe(source, len) => write!(f, "pipe {source} {len}"),
        }
    }
}

impl FromStr for Child {
    type Err = ();

    fn from_str(text: &str) -> Result<Child, ()> {
        let words: Vec<&str> = text.split(' ').collect();
        let number = |text: &str| text.parse().map_err(drop);
        match words[..] {
            ["first-bytes", source] => Ok(Child::FirstBytes(source.into())),
            ["forks", source, bytes] => Ok(Child::Forks(source.into(), number(bytes)?)),
            ["pipe", source, len] => Ok(Child::Pipe(source.into(), number(len)?)),
            _ => Err(()),
        }
    }
}

/// What this process is to do, if it was started as a child.
pub fn this_process() -> Option<Child> {
    std::env::var(VARIABLE).ok()?.parse().ok()
}

/// Does it, with a source of `lookup`.
///
/// # Errors
/// There is no such source, it did nothing, or the process could not do its work.
pub fn serve(child: &Child, lookup: Lookup) -> Result<(), Failure> {
    let (Child::FirstBytes(source) | Child::Forks(source, _) | Child::Pipe(source, _)) = child;
    let mut draw = match source == NOTHING {
        true => Box::new(|_: &mut [u8]| ()),
        false => lookup(source)
            .ok_or_else(|| Failure::Runtime(format!("{source}: it is not on this machine")))?,
    };
    match child {
        Child::FirstBytes(_) => print(first_bytes::time(source, &mut draw)?),
        Child::Forks(_, bytes) => print(forks::time(*bytes, &mut draw)?),
        Child::Pipe(_, len) => pipe::write_blocks(*len, &mut draw),
    }
}

fn print(nanoseconds: f64) -> Result<(), Failure> {
    output::print(&format!("{nanoseconds}\n"))
}

impl Child {
    /// The command that starts this program as this child.
    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(PROGRAM);
        command.arg("bench").env(VARIABLE, self.to_string());
        command.stdin(Stdio::null());
        command
    }

    /// Runs it to its end: the number that it printed.
    pub(super) fn measure(&self) -> Result<f64, Failure> {
        let ended = self.command().output();
        let ended = ended.map_err(|error| self.failure(&cause(&error)))?;
        self.number(&ended)
    }

    /// What it printed, if it also ended well.
    fn number(&self, ended: &Output) -> Result<f64, Failure> {
        let printed = String::from_utf8_lossy(&ended.stdout);
        match printed.trim().parse() {
            Ok(number) if ended.status.success() => Ok(number),
            _ => {
                let error = String::from_utf8_lossy(&ended.stderr);
                Err(self.failure(&format!("{}, {}", ended.status, error.trim())))
            }
        }
    }

    fn failure(&self, cause: &str) -> Failure {
        Failure::Runtime(format!("a process for {self}: {cause}"))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    use super::*;

    #[test]
    fn what_a_child_is_told_is_understood() {
        let source = || "thread-rng".to_owned();
        for child in [
            Child::FirstBytes(source()),
            Child::Forks(source(), 32),
            Child::Pipe(source(), 4096),
        ] {
            assert_eq!(child.to_string().parse(), Ok(child));
        }
        for wrong in [
            "",
            "first-bytes",
            "forks squall",
            "pipe squall x",
            "dance squall",
        ] {
            assert_eq!(wrong.parse::<Child>(), Err(()), "{wrong}");
        }
    }

    #[test]
    fn only_a_process_that_ended_well_counts() {
        let of = |status, line: &str| {
            Child::FirstBytes(NOTHING.into()).number(&Output {
                status: ExitStatus::from_raw(status),
                stdout: line.into(),
                stderr: Vec::new(),
            })
        };
        assert!(matches!(of(0, "12.5\n"), Ok(12.5)));
        assert!(of(1 << 8, "12.5\n").is_err());
        assert!(of(0, "").is_err());
    }

    #[test]
    fn a_source_that_is_not_there_is_a_failure() {
        let child = Child::FirstBytes("none".into());
        assert!(serve(&child, |_| None).is_err());
    }
}
