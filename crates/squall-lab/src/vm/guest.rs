//! A guest that runs: what is asked of it, and how it ends.

use std::fs;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::json;
use squall_command::Failure;
use squall_trace::{Command, State};

use super::memory::SharedMemory;
use super::qemu::{Files, Host};
use super::qmp::Qmp;

/// Time between two looks at a guest.
const PAUSE: Duration = Duration::from_millis(2);

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
        let control = Qmp::new(control).map_err(|failure| with(failure, &files.last_words()))?;
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
        self.control.execute("cont", json!({})).map(drop)
    }

    /// Stops the machine: nothing is recorded any more.
    pub fn stop(&mut self) -> Result<(), Failure> {
        self.control.execute("stop", json!({})).map(drop)
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
        self.control.execute("migrate", json!({ "uri": uri }))?;
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
        loop {
            self.host.interrupt.check()?;
            let is_done = done(self).map_err(|failure| self.explained(failure))?;
            if is_done {
                return Ok(());
            }
            self.check_on_probe()?;
            if self.process.has_ended() {
                let reason = Failure::Runtime(format!("the VM ended while waiting for {what}"));
                return Err(self.explained(reason));
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
        let progress = self.control.execute("query-migrate", json!({}))?;
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
        let status = self
            .control
            .execute("query-status", json!({}))
            .map_err(|failure| with(failure, "; the snapshot cannot be loaded"))?;
        Ok(status["status"] != "inmigrate")
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

    /// A failure, and what QEMU or the guest said last.
    fn explained(&mut self, failure: Failure) -> Failure {
        self.process.end();
        with(failure, &self.files.last_words())
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
    fn has_ended(&mut self) -> bool {
        matches!(self.0.try_wait(), Ok(Some(_)))
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

fn with(failure: Failure, words: &str) -> Failure {
    match failure {
        Failure::Runtime(message) => Failure::Runtime(message + words),
        other => other,
    }
}
