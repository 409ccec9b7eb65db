//! A running machine: starts it, sends it commands, waits for it, and ends it.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use squall_tools::Failure;
use squall_tools::failure::cause;

use super::arguments::{Arguments, escaped};
use super::host::Host;
use super::parent::end_with_us;
use super::qmp::Qmp;
use super::words::Words;

/// Pause between two checks of a guest.
pub const PAUSE: Duration = Duration::from_millis(2);

/// Pause between two questions to QEMU whether it has given up a silent guest.
const PAUSE_OF_QUESTIONS: Duration = Duration::from_secs(1);

/// A running machine, which ends on drop.
#[derive(Debug)]
pub struct Machine<'host> {
    host: &'host Host,
    process: Process,
    control: Qmp,
    words: Words,
}

impl<'host> Machine<'host> {
    /// Starts a machine. `number` makes its files' names unique.
    pub fn start(
        host: &'host Host,
        number: usize,
        mut arguments: Arguments,
    ) -> Result<Machine<'host>, Failure> {
        let words = Words {
            console: host.file(&format!("console-{number}")),
            messages: host.file(&format!("messages-{number}")),
        };
        arguments.add("-serial", format!("file:{}", escaped(&words.console)));
        let mut command = Command::new(&host.qemu.program);
        command
            .args(&host.qemu.first_arguments)
            .args(arguments.into_list());
        let (ours, theirs) = UnixStream::pair().map_err(|error| cannot_start(&error))?;
        let process = spawn(command, theirs, &words)?;
        let control =
            Qmp::new(ours, host.timeout).map_err(|failure| explained_by(failure, &words.last()))?;
        Ok(Machine {
            host,
            process,
            control,
            words,
        })
    }

    /// The host on which it runs.
    pub fn host(&self) -> &'host Host {
        self.host
    }

    /// What the guest's kernel has written to its console.
    pub fn console(&self) -> String {
        let written = std::fs::read(&self.words.console).unwrap_or_default();
        String::from_utf8_lossy(&written).into_owned()
    }

    /// Sends `command` to QEMU and returns its answer.
    pub fn ask(&mut self, command: &str, arguments: Value) -> Result<Value, Failure> {
        let answer = self.control.execute(command, arguments);
        answer.map_err(|failure| self.explained(failure))
    }

    /// Waits until the machine has switched itself off, and returns what its kernel and its programs have
    /// written to the console.
    pub fn end(mut self, what: &str) -> Result<String, Failure> {
        let mut wait = Wait::new(what, self.host.timeout);
        loop {
            self.host.interrupt.check()?;
            match self.process.ended() {
                Some(status) if status.success() => return Ok(self.console()),
                Some(status) => return Err(self.ended(what, status)),
                None => self.check_patience(&mut wait)?,
            }
            sleep(PAUSE);
        }
    }

    /// Fails if the wait is in vain: the machine has ended, QEMU has given it up, or the time is over.
    pub fn check(&mut self, wait: &mut Wait) -> Result<(), Failure> {
        match self.process.ended() {
            Some(status) => Err(self.ended(wait.what, status)),
            None => self.check_patience(wait),
        }
    }

    fn ended(&mut self, what: &str, status: ExitStatus) -> Failure {
        let reason = format!("the VM ended while waiting for {what}: {status}");
        self.explained(Failure::Runtime(reason))
    }

    fn check_patience(&mut self, wait: &mut Wait) -> Result<(), Failure> {
        let what = wait.what;
        let now = Instant::now();
        if now > wait.next_question {
            self.check_on_qemu(what)?;
            wait.next_question = now + PAUSE_OF_QUESTIONS;
        }
        if now > wait.begun + wait.timeout {
            let seconds = wait.timeout.as_secs();
            let reason = format!("the VM hangs: {what} took longer than {seconds} s");
            return Err(self.explained(Failure::Runtime(reason)));
        }
        Ok(())
    }

    /// Fails if QEMU has given up: it stops a machine if the host cannot run its CPU. A QEMU that does
    /// not answer has ended or hangs, which the caller notices.
    fn check_on_qemu(&mut self, what: &str) -> Result<(), Failure> {
        match self.control.execute("query-status", json!({})) {
            Ok(status) if status["status"] == "internal-error" => {
                let reason = format!("QEMU gave the VM up while waiting for {what}");
                Err(self.explained(Failure::Runtime(reason)))
            }
            _ => Ok(()),
        }
    }

    /// Ends the machine, and adds to the failure what QEMU or the guest said about it.
    fn explained(&mut self, failure: Failure) -> Failure {
        // Ctrl-C on the terminal also reaches QEMU.
        if let Err(interrupted) = self.host.interrupt.check() {
            return interrupted;
        }
        self.process.end();
        explained_by(failure, &self.words.last())
    }
}

/// A wait with a time limit.
#[derive(Debug)]
pub struct Wait<'a> {
    what: &'a str,
    begun: Instant,
    timeout: Duration,
    next_question: Instant,
}

impl<'a> Wait<'a> {
    /// Starts to wait for `what`, for at most `timeout`.
    pub fn new(what: &'a str, timeout: Duration) -> Wait<'a> {
        let begun = Instant::now();
        Wait {
            what,
            begun,
            timeout,
            next_question: begun + PAUSE_OF_QUESTIONS,
        }
    }
}

/// A process that is killed on drop.
#[derive(Debug)]
struct Process(Child);

impl Process {
    /// The exit status. None while the process runs.
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

/// Starts QEMU. This drops the command, and with it our copy of QEMU's end of `control`; otherwise the
/// socket would not be closed when QEMU ends.
fn spawn(mut command: Command, control: UnixStream, words: &Words) -> Result<Process, Failure> {
    let input = OwnedFd::from(control);
    let output = input.try_clone().map_err(|error| cannot_start(&error))?;
    let messages = File::create(&words.messages).map_err(|error| cannot_start(&error))?;
    end_with_us(&mut command);
    command
        .stdin(Stdio::from(input))
        .stdout(Stdio::from(output))
        .stderr(Stdio::from(messages))
        .spawn()
        .map(Process)
        .map_err(|error| cannot_start(&error))
}

fn cannot_start(error: &std::io::Error) -> Failure {
    Failure::Runtime(format!("QEMU cannot be started: {}", cause(error)))
}

fn explained_by(failure: Failure, words: &str) -> Failure {
    match failure {
        Failure::Runtime(message) => Failure::Runtime(format!("{message}{words}")),
        other => other,
    }
}
