//! A guest at work: commands, files, drives that vanish, and power cuts.

use std::fs;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::json;
use squall_tools::Failure;

use super::channel::Channel;
use super::setup::{Drive, id_of};
use crate::emulator::{Machine, PAUSE, Wait};

/// Longest time between two questions whether a job has ended.
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// A job of a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job(usize);

/// How a command ended, and what it printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// Its exit status; of a signal, 128 more.
    pub status: i32,
    /// Its standard output.
    pub stdout: Vec<u8>,
    /// Its standard error.
    pub stderr: Vec<u8>,
}

impl Said {
    /// Its standard output as text, if it succeeded.
    pub fn succeeded(self) -> Result<String, Failure> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        match self.status {
            0 => Ok(text(&self.stdout)),
            status => Err(Failure::Runtime(format!(
                "a command in the VM failed with exit status {status}: {}",
                text(&self.stderr).trim()
            ))),
        }
    }
}

/// A guest; it ends when this is dropped.
#[derive(Debug)]
pub struct Guest<'shop> {
    machine: Machine<'shop>,
    channel: Channel,
    /// The socket and the initramfs, which go with the guest.
    files: [PathBuf; 2],
    drives: Vec<Drive>,
    jobs: usize,
}

impl<'shop> Guest<'shop> {
    /// The guest on `machine`, when its agent is ready.
    pub(super) fn new(
        machine: Machine<'shop>,
        channel: Channel,
        files: [PathBuf; 2],
        drives: Vec<Drive>,
    ) -> Result<Guest<'shop>, Failure> {
        let mut guest = Guest {
            machine,
            channel,
            files,
            drives,
            jobs: 0,
        };
        guest.answer("the kernel to boot and the agent to start")?;
        Ok(guest)
    }

    /// Runs `command` in a shell to its end, within the host's timeout.
    pub fn sh(&mut self, command: &str) -> Result<Said, Failure> {
        let timeout = self.machine.host().timeout;
        self.sh_within(command, timeout)
    }

    /// Runs `command` in a shell to its end; after `limit` it is killed, which is a failure of the
    /// command and not of the guest.
    pub fn sh_within(&mut self, command: &str, limit: Duration) -> Result<Said, Failure> {
        let job = self.start(command)?;
        match self.finish(job, limit)? {
            Some(said) => Ok(said),
            None => {
                // It may have ended since.
                let _ = self.kill(job);
                self.ask("forget", job.0, "", &[])?;
                let seconds = limit.as_secs_f64();
                Err(Failure::Runtime(format!(
                    "`{command}` took longer than {seconds} s in the VM"
                )))
            }
        }
    }

    /// Starts `command` in a shell, as a session of its own.
    pub fn start(&mut self, command: &str) -> Result<Job, Failure> {
        self.write_file("/run/command", command.as_bytes())?;
        let job = Job(self.jobs);
        self.jobs += 1;
        self.ask("start", job.0, "", &[])?;
        Ok(job)
    }

    /// How a job ended, if it did; after that it is forgotten.
    pub fn finished(&mut self, job: Job) -> Result<Option<Said>, Failure> {
        let status = self.ask("poll", job.0, "", &[])?;
        if status.is_empty() {
            return Ok(None);
        }
        let status = status.parse().map_err(|_| nonsense(&status))?;
        let said = Said {
            status,
            stdout: self.read_file(&format!("/run/jobs/{}/stdout", job.0))?,
            stderr: self.read_file(&format!("/run/jobs/{}/stderr", job.0))?,
        };
        self.ask("forget", job.0, "", &[])?;
        Ok(Some(said))
    }

    /// Waits until a job has ended; none if it has not within `limit`.
    pub fn finish(&mut self, job: Job, limit: Duration) -> Result<Option<Said>, Failure> {
        let deadline = Instant::now() + limit;
        let mut pause = PAUSE;
        loop {
            if let Some(said) = self.finished(job)? {
                return Ok(Some(said));
            }
            if Instant::now() > deadline {
                return Ok(None);
            }
            sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Kills a job and its children.
    pub fn kill(&mut self, job: Job) -> Result<(), Failure> {
        self.ask("kill", job.0, "", &[]).map(drop)
    }

    /// What is in a file.
    pub fn read_file(&mut self, path: &str) -> Result<Vec<u8>, Failure> {
        let len = self.ask("get", 0, path, &[])?;
        let len = len.parse().map_err(|_| nonsense(&len))?;
        let what = format!("the contents of {path}");
        let mut wait = Wait::new(&what, self.machine.host().timeout);
        self.channel.bytes(len, &mut self.machine, &mut wait)
    }

    /// Makes a file with these contents, or replaces those of one.
    pub fn write_file(&mut self, path: &str, contents: &[u8]) -> Result<(), Failure> {
        self.ask("put", contents.len(), path, contents).map(drop)
    }

    /// Takes the drive with this serial number out, whether it is in use or not.
    pub fn unplug(&mut self, serial: &str) -> Result<(), Failure> {
        let id = id_of(&self.drives, serial)?;
        self.machine.ask("device_del", json!({ "id": id }))?;
        let what = format!("the drive {serial} to be released");
        let mut wait = Wait::new(&what, self.machine.host().timeout);
        while self.has(&id)? {
            self.machine.host().interrupt.check()?;
            self.machine.check(&mut wait)?;
            sleep(PAUSE);
        }
        Ok(())
    }

    /// Whether QEMU has a device.
    fn has(&mut self, id: &str) -> Result<bool, Failure> {
        let path = json!({ "path": "/machine/peripheral" });
        let devices = self.machine.ask("qom-list", path)?;
        let devices = devices.as_array().into_iter().flatten();
        Ok(devices.into_iter().any(|device| device["name"] == id))
    }

    /// Ends the machine at once, as if its plug were pulled; its drives' files remain.
    pub fn cut_power(self) {
        drop(self);
    }

    /// What its kernel has written.
    pub fn console(&self) -> String {
        self.machine.console()
    }

    /// What the agent answers to a request.
    fn ask(
        &mut self,
        word: &str,
        number: usize,
        path: &str,
        contents: &[u8],
    ) -> Result<String, Failure> {
        if path.contains('\n') || path.trim() != path {
            return Err(Failure::Runtime(format!(
                "{path:?} is no name of a file in the VM that the lab can use: it begins or ends with a blank, or has several lines"
            )));
        }
        self.machine.host().interrupt.check()?;
        let what = format!("an answer to {word} {path}");
        let what = what.trim_end();
        let mut wait = Wait::new(what, self.machine.host().timeout);
        let request = format!("{word} {number} {path}\n");
        for bytes in [request.as_bytes(), contents] {
            self.channel.send(bytes, &mut self.machine, &mut wait)?;
        }
        self.answer(what)
    }

    fn answer(&mut self, what: &str) -> Result<String, Failure> {
        let mut wait = Wait::new(what, self.machine.host().timeout);
        let line = self.channel.line(&mut self.machine, &mut wait)?;
        match line.split_once(' ') {
            Some(("yes", value)) => Ok(value.to_owned()),
            Some(("no", reason)) => Err(Failure::Runtime(format!("in the VM: {}", reason.trim()))),
            _ => Err(nonsense(&line)),
        }
    }
}

impl Drop for Guest<'_> {
    fn drop(&mut self) {
        for file in &self.files {
            let _ = fs::remove_file(file);
        }
    }
}

fn nonsense(line: &str) -> Failure {
    Failure::Runtime(format!("the agent in the VM is not understood: {line:?}"))
}
