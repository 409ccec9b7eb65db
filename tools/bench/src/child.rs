//! A child process of this very program. Some sources change their whole process, so each of them runs
//! in a child; first bytes, forks and pipes need new processes too.
//!
//! Run as `squall bench` with an environment variable, the program does one thing ([`crate::work`]) and
//! ends.

use std::process::{self, Command};

use serde::{Deserialize, Serialize};

/// Tells a child what to do. No argument, as it is no part of the command's interface.
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
    /// Run TestU01 on standard input.
    TestU01,
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
