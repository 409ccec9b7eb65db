//! Processes that this one starts. Each is killed with all that it has started when its owner drops
//! it, and what it said last is told.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

use rustix::io::ioctl_fionbio;
use rustix::process::{Pid, Signal, kill_process_group};
use squall_tools::Failure;
use squall_tools::failure::cause;

/// The most bytes of its standard error that are read.
const LAST_WORDS: u64 = 4096;

/// A process in a group of its own: an interrupt from the terminal is for this process alone.
#[derive(Debug)]
pub struct Subprocess(pub Child);

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
            // Who has left the group may hold the other end.
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
