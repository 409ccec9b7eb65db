//! Child processes. Each is killed with all that it has started when its owner drops it, and what it wrote last
//! to standard error is in the message about it.
//!
//! Some are this very program: some sources change their whole process, so each of them runs in a child; first
//! bytes, forks and pipes need new processes too. Run as `squall bench` with an environment variable, the program
//! does one thing ([`crate::work`]) and ends.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{self, Command};

use rustix::io::ioctl_fionbio;
use rustix::process::{Pid, Signal, kill_process_group};
use serde::{Deserialize, Serialize};
use squall_tool_base::Failure;
use squall_tool_base::failure::cause;

use crate::sources::{self, NOTHING, Opened, Source};

/// Has the work of a child. No argument, as it is no part of the command's interface.
const VARIABLE: &str = "SQUALL_BENCH_CHILD";

/// What a child does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Work {
    /// Draw so many bytes, once.
    FirstBytes,
    /// Fork, with children that draw so many bytes.
    Forks,
    /// Write blocks of so many bytes to standard output, until nobody reads them.
    Pipe,
    /// Serve the source: see [`crate::remote`].
    Serve,
}

/// A child of this program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Child {
    /// What it does.
    pub work: Work,
    /// The name of the source.
    pub source: String,
    /// Bytes of a draw.
    pub bytes: usize,
}

/// This very program, even if a build has replaced its file since.
pub fn this_program() -> Command {
    Command::new(format!("/proc/{}/exe", process::id()))
}

impl Child {
    pub fn new(work: Work, source: &str, bytes: usize) -> Child {
        let source = source.to_owned();
        Child {
            work,
            source,
            bytes,
        }
    }

    /// What this process is to do, if it was started as a child.
    pub fn this_process() -> Option<Child> {
        serde_json::from_str(&std::env::var(VARIABLE).ok()?).ok()
    }

    /// The command that starts this program as this child.
    pub fn command(&self) -> Command {
        let mut command = this_program();
        let text = serde_json::to_string(self).expect("a name and a number");
        command.arg("bench").env(VARIABLE, text);
        command
    }
}

/// A source that is opened by its first draw, as in a program that needs it. Its library is loaded
/// before, as in a program that is linked with it.
pub struct Unopened {
    name: String,
    open: fn(&str) -> Opened,
    source: Option<Box<dyn Source>>,
}

impl Unopened {
    pub fn new(name: &str, open: fn(&str) -> Opened) -> Unopened {
        match name {
            "openssl-rand" => drop(sources::libcrypto::version()),
            "libsodium" => drop(sources::libraries::sodium_version()),
            _ => {}
        }
        let (name, source) = (name.to_owned(), None);
        Unopened { name, open, source }
    }

    /// Whether it draws at all.
    pub fn is_nothing(&self) -> bool {
        self.name == NOTHING
    }

    pub fn draw(&mut self, out: &mut [u8]) -> Result<(), Failure> {
        if let Some(source) = &mut self.source {
            return source.fill(out);
        }
        if self.is_nothing() {
            return Ok(());
        }
        let opened = (self.open)(&self.name).map_err(Failure::Runtime)?;
        self.source.insert(opened).fill(out)
    }
}

/// The most bytes of its standard error that are read.
const LAST_WORDS: u64 = 4096;

/// A process in a group of its own: an interrupt from the terminal is for this process alone.
#[derive(Debug)]
pub struct Subprocess(pub process::Child);

impl Subprocess {
    pub fn start(command: &mut Command) -> Result<Subprocess, Failure> {
        let started = command.process_group(0).spawn();
        started.map(Subprocess).map_err(|error| {
            let program = command.get_program().display();
            Failure::Runtime(format!("{program}: {}", cause(&error)))
        })
    }

    /// Ends it, and says why: because of what it `did`, or because it had ended early.
    pub fn end(&mut self, did: Option<&str>) -> String {
        let status = self.stop();
        let words = self.last_words();
        match did {
            None => format!("its process ended early, {status}{words}"),
            Some(did) => format!("its process {did}, and was ended{words}"),
        }
    }

    /// Kills it, with all that it has started, and gives what it ended with.
    fn stop(&mut self) -> String {
        // Its number stays its own until it has been waited for.
        let _ = kill_process_group(Pid::from_child(&self.0), Signal::KILL);
        match self.0.wait() {
            Ok(status) => status.to_string(),
            Err(error) => cause(&error),
        }
    }

    /// The first line that it left on its standard error, to be added to a message.
    fn last_words(&mut self) -> String {
        let mut words = Vec::new();
        if let Some(errors) = self.0.stderr.take() {
            // A process that has left the group may hold the other end.
            let _ = ioctl_fionbio(&errors, true);
            let _ = errors.take(LAST_WORDS).read_to_end(&mut words);
        }
        let words = String::from_utf8_lossy(&words);
        let mut lines = words.lines().map(str::trim);
        let first = lines.find(|line| !line.is_empty());
        first.map_or_else(String::new, |line| format!(": {line}"))
    }
}

impl Drop for Subprocess {
    fn drop(&mut self) {
        self.stop();
    }
}
