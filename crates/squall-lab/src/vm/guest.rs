//! A guest that runs: what is asked of it, and how it ends.

use std::fs;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use squall_command::Failure;
use squall_trace::{Command, State};

use super::memory::SharedMemory;
use super::qemu::{Files, Host};
use super::qmp::Qmp;

/// Time between two looks at a guest.
const PAUSE: Duration = Duration::from_millis(2);

/// Time between two questions to QEMU whether it has given up a guest that says nothing.
const PAUSE_OF_QUESTIONS: Duration = Duration::from_secs(1);

/// A machine that was stopped, in a file that goes with this.
#[derive(Debug)]
pub struct Snapshot(PathBuf);

impl Snapshot {
    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// A guest; it ends when this is dropped.
#[derive(Debug)]
pub struct Guest<'host> {
    host: &'host Host,
    process: Process,
    control: Qmp,
    memory: SharedMemory,
    files: Files,
}

impl<'host> Guest<'host> {
    pub(super) fn new(
        host: &'host Host,
        process: Process,
        control: UnixStream,
        memory: SharedMemory,
        files: Files,
    ) -> Result<Guest<'host>, Failure> {
        let control = Qmp::new(control, host.patience)
            .map_err(|failure| with("", failure, &files.last_words()))?;
        Ok(Guest {
            host,
            process,
            control,
            memory,
            files,
        })
    }

    /// The memory in which it records.
    pub fn memory(&self) -> &SharedMemory {
        &self.memory
    }

    /// Lets a machine that stands still go on.
    pub fn go_on(&mut self) -> Result<(), Failure> {
        self.ask("cont", json!({})).map(drop)
    }

    /// Stops the machine: nothing is recorded any more.
    pub fn stop(&mut self) -> Result<(), Failure> {
        self.ask("stop", json!({})).map(drop)
    }

    /// Tells the probe to draw and record.
    pub fn run(&mut self) -> Result<(), Failure> {
        self.memory.tell(Command::Run)?;
        self.wait("the probe to begin", |guest| {
            Ok(guest.memory.state()? == State::Running)
        })
    }

    /// Writes a machine that is stopped to `path`.
    pub fn snapshot(&mut self, path: PathBuf) -> Result<Snapshot, Failure> {
        let uri = format!("file:{}", path.display());
        let snapshot = Snapshot(path);
        self.ask("migrate", json!({ "uri": uri }))?;
        self.wait("the snapshot to be written", Guest::is_migrated)?;
        Ok(snapshot)
    }

    /// Waits until `done`, or for as long as the host has patience.
    pub fn wait(
        &mut self,
        what: &str,
        mut done: impl FnMut(&mut Self) -> Result<bool, Failure>,
    ) -> Result<(), Failure> {
        let patience = self.host.patience;
        let deadline = Instant::now() + patience;
        let mut next_question = Instant::now() + PAUSE_OF_QUESTIONS;
        loop {
            self.host.interrupt.check()?;
            if done(self)? {
                return Ok(());
            }
            self.check_on_probe()?;
            if let Some(status) = self.process.ended() {
                let reason = format!("the VM ended while waiting for {what}: {status}");
                return Err(self.explained(Failure::Runtime(reason)));
            }
            if Instant::now() > next_question {
                self.check_on_machine(what)?;
                next_question = Instant::now() + PAUSE_OF_QUESTIONS;
            }
            if Instant::now() > deadline {
                let seconds = patience.as_secs();
                let reason = format!("the VM hangs: {what} took longer than {seconds} s");
                return Err(self.explained(Failure::Runtime(reason)));
            }
            sleep(PAUSE);
        }
    }

    pub(super) fn wait_until_ready(&mut self) -> Result<(), Failure> {
        self.wait("the kernel to boot and the probe to start", |guest| {
            Ok(guest.memory.state()? == State::Ready)
        })
    }

    pub(super) fn wait_until_loaded(&mut self) -> Result<(), Failure> {
        self.wait("the snapshot to be loaded", Guest::is_loaded)
    }

    fn is_migrated(&mut self) -> Result<bool, Failure> {
        let progress = self.ask("query-migrate", json!({}))?;
        match progress["status"].as_str() {
            Some("completed") => Ok(true),
            Some("failed") => {
                let reason = progress["error-desc"].as_str().unwrap_or("no reason given");
                Err(Failure::Runtime(format!(
                    "the snapshot cannot be written: {reason}"
                )))
            }
            _ => Ok(false),
        }
    }

    fn is_loaded(&mut self) -> Result<bool, Failure> {
        let status = self.ask("query-status", json!({})).map_err(not_loaded)?;
        Ok(status["status"] != "inmigrate")
    }

    /// Whether QEMU has given up: it stops a machine whose CPU the host cannot run. One that does
    /// not answer has ended, or hangs: whoever waits sees that.
    fn check_on_machine(&mut self, what: &str) -> Result<(), Failure> {
        match self.control.execute("query-status", json!({})) {
            Ok(status) if status["status"] == "internal-error" => {
                let reason = format!("QEMU gave the VM up while waiting for {what}");
                Err(self.explained(Failure::Runtime(reason)))
            }
            _ => Ok(()),
        }
    }

    fn check_on_probe(&self) -> Result<(), Failure> {
        match self.memory.state()? {
            State::Failed => {
                let message = self.memory.message()?;
                Err(Failure::Runtime(format!(
                    "the probe in the VM failed: {message}"
                )))
            }
            _ => Ok(()),
        }
    }

    /// What QEMU answers to `command`.
    fn ask(&mut self, command: &str, arguments: Value) -> Result<Value, Failure> {
        let answer = self.control.execute(command, arguments);
        answer.map_err(|failure| self.explained(failure))
    }

    /// A failure, and what QEMU or the guest said of it.
    fn explained(&mut self, failure: Failure) -> Failure {
        // The terminal's Ctrl-C has reached QEMU too.
        if let Err(interrupted) = self.host.interrupt.check() {
            return interrupted;
        }
        self.process.end();
        with("", failure, &self.files.last_words())
    }
}

impl Drop for Guest<'_> {
    fn drop(&mut self) {
        let _ = fs::remove_file(self.memory.path());
        self.files.remove();
    }
}

/// A process that ends with this.
#[derive(Debug)]
pub(super) struct Process(pub Child);

impl Process {
    /// How it ended, if it did.
    fn ended(&mut self) -> Option<ExitStatus> {
        self.0.try_wait().ok().flatten()
    }

    fn end(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

/// A failure of a machine that is loaded from a snapshot.
pub(super) fn not_loaded(failure: Failure) -> Failure {
    with("the snapshot cannot be loaded: ", failure, "")
}

fn with(before: &str, failure: Failure, after: &str) -> Failure {
    match failure {
        Failure::Runtime(message) => Failure::Runtime(format!("{before}{message}{after}")),
        other => other,
    }
}
