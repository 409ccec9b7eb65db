//! A running guest: runs commands, transfers files, unplugs drives, and cuts the power. It asks the agent of the
//! guest, with requests and answers in turn (see agent.sh).

use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::json;
use squall_tool_base::Failure;
use squall_tool_base::failure::cause;

use super::setup::{Drive, device, id, medium, number_of};
use crate::emulator::{Machine, PAUSE, Wait};

/// The number of a command that a guest runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job(usize);

/// A command's exit status and output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandOutput {
    /// The exit status, or 128 plus the number of the signal that ended it.
    pub status: i32,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

impl CommandOutput {
    /// The standard output as text. Fails unless the command succeeded.
    pub fn into_stdout(self) -> Result<String, Failure> {
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

/// A stopped guest, saved in a file.
#[derive(Debug)]
pub struct Snapshot {
    pub(super) path: PathBuf,
    /// The number of its next job.
    next_job: usize,
}

/// A running guest, which ends on drop.
#[derive(Debug)]
pub struct Guest<'factory> {
    machine: Machine<'factory>,
    /// The connection to its agent.
    agent: UnixStream,
    /// How many bytes of a file, or of a command, one request to the agent may have.
    piece: usize,
    /// Bytes that the agent has sent and nobody has read yet.
    received: Vec<u8>,
    /// They are removed with the guest.
    files: Vec<PathBuf>,
    drives: Vec<Drive>,
    next_job: usize,
}

impl<'factory> Guest<'factory> {
    pub(super) fn new(
        machine: Machine<'factory>,
        (agent, piece): (UnixStream, usize),
        files: Vec<PathBuf>,
        drives: Vec<Drive>,
    ) -> Result<Guest<'factory>, Failure> {
        let timeouts = agent
            .set_read_timeout(Some(CHECK_INTERVAL))
            .and_then(|()| agent.set_write_timeout(Some(CHECK_INTERVAL)));
        timeouts.map_err(|error| Failure::Runtime(cause(&error)))?;
        Ok(Guest {
            machine,
            agent,
            piece,
            received: Vec::new(),
            files,
            drives,
            next_job: 0,
        })
    }

    /// Waits until the agent is ready.
    pub(super) fn wait_until_ready(&mut self) -> Result<(), Failure> {
        let ready = self.answer("the kernel to boot and the agent to start");
        ready.map(drop)
    }

    /// Waits until the snapshot is loaded, and resumes the guest.
    pub(super) fn wait_until_loaded(&mut self, snapshot: &Snapshot) -> Result<(), Failure> {
        self.next_job = snapshot.next_job;
        self.machine.wait_until_loaded()?;
        self.machine.ask("cont", json!({})).map(drop)
    }

    /// Stops the guest and writes it to the file `path`.
    pub fn snapshot(mut self, path: PathBuf) -> Result<Snapshot, Failure> {
        self.machine.ask("stop", json!({}))?;
        self.machine.snapshot(&path)?;
        Ok(Snapshot {
            path,
            next_job: self.next_job,
        })
    }

    /// Runs `command` in a shell, for at most the host's timeout.
    pub fn sh(&mut self, command: &str) -> Result<CommandOutput, Failure> {
        let timeout = self.machine.host().timeout;
        self.sh_within(command, timeout)
    }

    /// Runs `command` in a shell. If it runs longer than `limit`, it is killed and this fails; the guest
    /// remains usable.
    pub fn sh_within(&mut self, command: &str, limit: Duration) -> Result<CommandOutput, Failure> {
        let job = self.start(command)?;
        match self.finish(job, limit)? {
            Some(output) => Ok(output),
            None => {
                // The job may have ended in the meantime.
                let _ = self.kill(job);
                self.ask("forget", job.0, "", &[])?;
                let seconds = limit.as_secs_f64();
                Err(Failure::Runtime(format!(
                    "`{command}` took longer than {seconds} s in the VM"
                )))
            }
        }
    }

    /// Starts `command` in a shell in its own session.
    pub fn start(&mut self, command: &str) -> Result<Job, Failure> {
        if command.len() > self.piece {
            let path = format!("/run/command-{}", self.next_job);
            self.write_file(&path, command.as_bytes())?;
            return self.start(&format!(". {path}"));
        }
        let job = Job(self.next_job);
        self.next_job += 1;
        let len = command.len().to_string();
        self.ask("start", job.0, &len, command.as_bytes())?;
        Ok(job)
    }

    /// Waits for the end of a job for at most a second. None while it runs. The guest forgets a finished job.
    pub fn poll(&mut self, job: Job) -> Result<Option<CommandOutput>, Failure> {
        let answer = self.ask("poll", job.0, "", &[])?;
        if answer.is_empty() {
            return Ok(None);
        }
        let numbers: Vec<usize> = answer.split(' ').flat_map(str::parse).collect();
        let [status, stdout, stderr] = numbers[..] else {
            return Err(invalid_answer(&answer));
        };
        Ok(Some(CommandOutput {
            status: i32::try_from(status).map_err(|_| invalid_answer(&answer))?,
            stdout: self.bytes(stdout, "a command's output")?,
            stderr: self.bytes(stderr, "a command's errors")?,
        }))
    }

    /// Waits until a job has ended. None if it runs longer than `limit`.
    pub fn finish(&mut self, job: Job, limit: Duration) -> Result<Option<CommandOutput>, Failure> {
        let deadline = Instant::now() + limit;
        loop {
            let output = self.poll(job)?;
            if output.is_some() || Instant::now() > deadline {
                return Ok(output);
            }
        }
    }

    /// Kills a job and its children.
    pub fn kill(&mut self, job: Job) -> Result<(), Failure> {
        self.ask("kill", job.0, "", &[]).map(drop)
    }

    /// Reads a file of the guest.
    pub fn read_file(&mut self, path: &str) -> Result<Vec<u8>, Failure> {
        let len = self.ask("get", 0, path, &[])?;
        let len = len.parse().map_err(|_| invalid_answer(&len))?;
        self.bytes(len, &format!("the contents of {path}"))
    }

    /// The bytes after an answer.
    fn bytes(&mut self, len: usize, what: &str) -> Result<Vec<u8>, Failure> {
        let mut wait = Wait::new(what, self.machine.host().timeout);
        while self.received.len() < len {
            self.receive(&mut wait)?;
        }
        let rest = self.received.split_off(len);
        Ok(std::mem::replace(&mut self.received, rest))
    }

    /// Creates or replaces a file of the guest.
    pub fn write_file(&mut self, path: &str, contents: &[u8]) -> Result<(), Failure> {
        let mut pieces = contents.chunks(self.piece);
        let first = pieces.next().unwrap_or_default();
        self.ask("put", first.len(), path, first)?;
        for piece in pieces {
            self.ask("add", piece.len(), path, piece)?;
        }
        Ok(())
    }

    /// Unplugs the drive with this serial number, even if it is in use, and waits until QEMU has released its file.
    /// The guest's kernel may show it for longer.
    pub fn unplug(&mut self, serial: &str) -> Result<(), Failure> {
        let number = number_of(&self.drives, serial)?;
        let id = id(number);
        self.machine.ask("device_del", json!({ "id": id }))?;
        let what = format!("the drive {serial} to be released");
        let limit = self.machine.host().timeout;
        self.machine.wait(&what, limit, |machine| {
            Ok(!has_device(machine, &id)? && !is_medium_used(machine, number)?)
        })
    }

    /// Plugs the drive with this serial number in again.
    pub fn plug(&mut self, serial: &str) -> Result<(), Failure> {
        let number = number_of(&self.drives, serial)?;
        let device = device(&self.drives, number);
        self.machine.ask("device_add", device).map(drop)
    }

    /// Ends the machine at once, like pulling its plug. The files of its drives remain.
    pub fn cut_power(self) {
        drop(self);
    }

    /// What the guest's kernel has written to its console.
    pub fn console(&self) -> String {
        self.machine.console()
    }

    /// Sends a request to the agent and returns its answer.
    fn ask(
        &mut self,
        word: &str,
        number: usize,
        value: &str,
        contents: &[u8],
    ) -> Result<String, Failure> {
        if value.contains('\n') || value.trim() != value {
            return Err(Failure::Runtime(format!(
                "{value:?}: the lab cannot send this to the VM: use one line without blanks at its ends"
            )));
        }
        self.machine.host().interrupt.check()?;
        let what = format!("an answer to {word} {value}");
        let what = what.trim_end();
        let mut wait = Wait::new(what, self.machine.host().timeout);
        let request = format!("{word} {number} {value}\n");
        for mut bytes in [request.as_bytes(), contents] {
            while !bytes.is_empty() {
                let sent = transferred(self.agent.write(bytes))?;
                bytes = &bytes[sent..];
                if sent == 0 {
                    self.check(&mut wait)?;
                }
            }
        }
        self.answer(what)
    }

    fn answer(&mut self, what: &str) -> Result<String, Failure> {
        let mut wait = Wait::new(what, self.machine.host().timeout);
        let end = loop {
            if let Some(end) = self.received.iter().position(|&byte| byte == b'\n') {
                break end;
            }
            self.receive(&mut wait)?;
        };
        let line: Vec<_> = self.received.drain(..=end).collect();
        let line = String::from_utf8_lossy(&line[..end]);
        match line.split_once(' ') {
            Some(("yes", value)) => Ok(value.to_owned()),
            Some(("no", reason)) => Err(Failure::Runtime(format!("in the VM: {}", reason.trim()))),
            _ => Err(invalid_answer(&line)),
        }
    }

    fn receive(&mut self, wait: &mut Wait) -> Result<(), Failure> {
        let mut buffer = [0; 1 << 16];
        let read = transferred(self.agent.read(&mut buffer))?;
        self.received.extend_from_slice(&buffer[..read]);
        match read {
            0 => self.check(wait),
            _ => Ok(()),
        }
    }

    /// Fails if there is no point in waiting further.
    fn check(&mut self, wait: &mut Wait) -> Result<(), Failure> {
        self.machine.host().interrupt.check()?;
        self.machine.check(wait)?;
        sleep(PAUSE);
        Ok(())
    }
}

impl Drop for Guest<'_> {
    fn drop(&mut self) {
        for file in &self.files {
            let _ = fs::remove_file(file);
        }
    }
}

/// Whether QEMU has a device with this ID.
fn has_device(machine: &mut Machine, id: &str) -> Result<bool, Failure> {
    let path = json!({ "path": "/machine/peripheral" });
    let devices = machine.ask("qom-list", path)?;
    let devices = devices.as_array().into_iter().flatten();
    Ok(devices.into_iter().any(|device| device["name"] == id))
}

/// Whether a device uses the medium of this number, which QEMU releases some time after the device has gone.
fn is_medium_used(machine: &mut Machine, number: usize) -> Result<bool, Failure> {
    let used = machine.ask("query-block", json!({}))?;
    let medium = medium(number);
    let mut used = used.as_array().into_iter().flatten();
    Ok(used.any(|device| device["inserted"]["node-name"] == medium.as_str()))
}

fn invalid_answer(line: &str) -> Failure {
    Failure::Runtime(format!(
        "the agent in the VM sent an invalid answer: {line:?}"
    ))
}

/// Longest time between two checks of the machine.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// The number of bytes transferred. 0 if none could be transferred yet, or if QEMU is about to end.
fn transferred(result: io::Result<usize>) -> Result<usize, Failure> {
    use ErrorKind::{BrokenPipe, ConnectionReset, Interrupted, WouldBlock};
    match result {
        Ok(count) => Ok(count),
        Err(error) => match error.kind() {
            BrokenPipe | ConnectionReset | Interrupted | WouldBlock => Ok(0),
            _ => Err(Failure::Runtime(format!(
                "the connection to the agent in the VM failed: {}",
                cause(&error)
            ))),
        },
    }
}
