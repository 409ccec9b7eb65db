//! This program as its own child: what it is asked to do, and the number that it prints.

use std::fmt;
use std::process::{Command, Stdio};

use squall_tools::Failure;
use squall_tools::failure::cause;

/// Names the experiment. It is a variable and no argument, as it is no part of the interface.
const VARIABLE: &str = "SQUALL_BENCH_CHILD";

/// This very image, even if a build has replaced the file since.
pub const PROGRAM: &str = "/proc/self/exe";

/// The source that does nothing: what an experiment costs without a source.
pub const NOTHING: &str = "nothing";

/// What a child does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Experiment {
    /// Draw so many bytes, once.
    FirstBytes,
    /// Fork, with children that draw so many bytes.
    Forks,
    /// Write blocks of so many bytes to standard output, until nobody reads them.
    Pipe,
}

/// An experiment with a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Child {
    /// What it does.
    pub experiment: Experiment,
    /// The name of the source.
    pub source: String,
    /// Bytes of a draw.
    pub bytes: usize,
}

impl Experiment {
    const ALL: [(&str, Experiment); 3] = [
        ("first-bytes", Experiment::FirstBytes),
        ("forks", Experiment::Forks),
        ("pipe", Experiment::Pipe),
    ];
}

impl fmt::Display for Child {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = Experiment::ALL.into_iter();
        let name = known.filter(|it| it.1 == self.experiment).map(|it| it.0);
        write!(
            f,
            "{} {} {}",
            name.collect::<String>(),
            self.source,
            self.bytes
        )
    }
}

/// What this process is to do, if it was started as a child.
pub fn this_process() -> Option<Child> {
    let text = std::env::var(VARIABLE).ok()?;
    let [name, source, bytes] = text.split(' ').collect::<Vec<_>>()[..] else {
        return None;
    };
    let known = Experiment::ALL.into_iter().find(|known| known.0 == name)?;
    Some(Child {
        experiment: known.1,
        source: source.to_owned(),
        bytes: bytes.parse().ok()?,
    })
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
        let failure = |cause: &str| Failure::Runtime(format!("a process for {self}: {cause}"));
        let ended = self.command().output();
        let ended = ended.map_err(|error| failure(&cause(&error)))?;
        match String::from_utf8_lossy(&ended.stdout).trim().parse() {
            Ok(number) if ended.status.success() => Ok(number),
            _ => {
                let error = String::from_utf8_lossy(&ended.stderr);
                Err(failure(&format!("{}, {}", ended.status, error.trim())))
            }
        }
    }
}
