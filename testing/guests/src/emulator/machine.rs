//! A running machine: starts it, sends it commands, waits for it, and ends it.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use squall_tools::Failure;
use squall_tools::failure::cause;

use super::arguments::{Arguments, escaped};
use super::die_with_parent::kill_with_parent;
use super::host::Host;
use super::logs::Logs;
use super::qmp::Qmp;

/// Pause between two checks of a guest.
pub const PAUSE: Duration = Duration::from_millis(2);

/// Interval at which QEMU is asked whether it has given up a silent guest.
const QEMU_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// A running machine, which ends on drop.
#[derive(Debug)]
pub struct Machine<'host> {
    host: &'host Host,
    process: Process,
    /// None for user-mode Linux.
    control: Option<Qmp>,
    logs: Logs,
}

impl<'host> Machine<'host> {
    /// Starts a machine. `number` makes its files' names unique.
    pub fn start(
        host: &'host Host,
        number: usize,
        mut arguments: Arguments,
    ) -> Result<Machine<'host>, Failure> {
        let logs = Logs::of(host, number);
        arguments.add("-serial", format!("file:{}", escaped(&logs.console)));
        let mut command = Command::new(&host.qemu.program);
        command
            .args(&host.qemu.first_arguments)
            .args(arguments.into_list());
        let (ours, theirs) = UnixStream::pair().map_err(|error| cannot_start(&error))?;
        let input = OwnedFd::from(theirs);
        let output = input.try_clone().map_err(|error| cannot_start(&error))?;
        command.stdin(input).stdout(output);
        let process = spawn(command, &logs.messages)?;
        let control = Qmp::new(ours, host.timeout)
            .map_err(|failure| with_details(failure, &logs.last_message()))?;
        Ok(Machine {
            host,
            process,
            control: Some(control),
            logs,
        })
    }

    /// Starts user-mode Linux. The stream is its first serial line, the file of `number` its console.
    pub fn start_user_mode(
        host: &'host Host,
        number: usize,
        mut command: Command,
    ) -> Result<(Machine<'host>, UnixStream), Failure> {
        let logs = Logs::of(host, number);
        let (ours, theirs) = UnixStream::pair().map_err(|error| cannot_start(&error))?;
        let console = File::create(&logs.console).map_err(|error| cannot_start(&error))?;
        command.args(["con=null", "con0=null,fd:1", "ssl0=fd:0"]);
        // It leaves files there when it is killed.
        command.arg(format!("uml_dir={}", host.file("user-mode").display()));
        command.stdin(OwnedFd::from(theirs)).stdout(console);
        let process = spawn(command, &logs.messages)?;
        let machine = Machine {
            host,
            process,
            control: None,
            logs,
        };
        Ok((machine, ours))
    }

    /// The host on which it runs.
    pub fn host(&self) -> &'host Host {
        self.host
    }

    /// What the guest's kernel has written to its console.
    pub fn console(&self) -> String {
        let written = std::fs::read(&self.logs.console).unwrap_or_default();
        String::from_utf8_lossy(&written).into_owned()
    }

    /// Sends `command` to QEMU and returns its answer.
    pub fn ask(&mut self, command: &str, arguments: Value) -> Result<Value, Failure> {
        let Some(control) = &mut self.control else {
            let text = format!("user-mode Linux has no {command}: use QEMU for this test");
            return Err(Failure::Runtime(text));
        };
        let answer = control.execute(command, arguments);
        answer.map_err(|failure| self.end_and_explain(failure))
    }

    /// Waits until the machine has switched itself off, and returns what its kernel and its programs have
    /// written to the console.
    pub fn end(mut self, what: &str) -> Result<String, Failure> {
        let mut wait = Wait::new(what, self.host.timeout);
        loop {
            self.host.interrupt.check()?;
            match self.process.exit_status() {
                Some(status) if status.success() => return Ok(self.console()),
                Some(status) => return Err(self.ended(what, status)),
                None => self.check_patience(&mut wait)?,
            }
            sleep(PAUSE);
        }
    }

    /// Fails if waiting is pointless: the machine has ended, QEMU has given it up, or the time is over.
    pub fn check(&mut self, wait: &mut Wait) -> Result<(), Failure> {
        match self.process.exit_status() {
            Some(status) => Err(self.ended(wait.what, status)),
            None => self.check_patience(wait),
        }
    }

    fn ended(&mut self, what: &str, status: ExitStatus) -> Failure {
        let reason = format!("the VM ended while waiting for {what}: {status}");
        self.end_and_explain(Failure::Runtime(reason))
    }

    fn check_patience(&mut self, wait: &mut Wait) -> Result<(), Failure> {
        let what = wait.what;
        let now = Instant::now();
        if now > wait.next_qemu_check {
            self.check_on_qemu(what)?;
            wait.next_qemu_check = now + QEMU_CHECK_INTERVAL;
        }
        if now > wait.begun + wait.timeout {
            let seconds = wait.timeout.as_secs();
            let reason = format!("the VM hangs: {what} took longer than {seconds} s");
            return Err(self.end_and_explain(Failure::Runtime(reason)));
        }
        Ok(())
    }

    /// Fails if QEMU has given up: it stops a machine if the host cannot run its CPU. A QEMU that does
    /// not answer has ended or hangs, which the caller notices.
    fn check_on_qemu(&mut self, what: &str) -> Result<(), Failure> {
        let Some(control) = &mut self.control else {
            return Ok(());
        };
        match control.execute("query-status", json!({})) {
            Ok(status) if status["status"] == "internal-error" => {
                let reason = format!("QEMU gave up the VM while waiting for {what}");
                Err(self.end_and_explain(Failure::Runtime(reason)))
            }
            _ => Ok(()),
        }
    }

    /// Ends the machine, and adds the last message of QEMU or the guest to the failure.
    fn end_and_explain(&mut self, failure: Failure) -> Failure {
        // Ctrl-C on the terminal also reaches QEMU.
        if let Err(interrupted) = self.host.interrupt.check() {
            return interrupted;
        }
        self.process.kill();
        with_details(failure, &self.logs.last_message())
    }
}

/// A wait with a time limit.
#[derive(Debug)]
pub struct Wait<'a> {
    what: &'a str,
    begun: Instant,
    timeout: Duration,
    next_qemu_check: Instant,
}

impl<'a> Wait<'a> {
    /// Starts to wait for `what`, for at most `timeout`.
    pub fn new(what: &'a str, timeout: Duration) -> Wait<'a> {
        let begun = Instant::now();
        Wait {
            what,
            begun,
            timeout,
            next_qemu_check: begun + QEMU_CHECK_INTERVAL,
        }
    }
}

/// A process that is killed on drop.
#[derive(Debug)]
struct Process(Child);

impl Process {
    /// The exit status. None while the process runs.
    fn exit_status(&mut self) -> Option<ExitStatus> {
        self.0.try_wait().ok().flatten()
    }

    fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Starts a machine. This drops the command, and with it our copy of the machine's end of a socket, which otherwise
/// would not be closed when the machine ends.
fn spawn(mut command: Command, messages: &Path) -> Result<Process, Failure> {
    let messages = File::create(messages).map_err(|error| cannot_start(&error))?;
    kill_with_parent(&mut command);
    command
        .stderr(messages)
        .spawn()
        .map(Process)
        .map_err(|error| cannot_start(&error))
}

fn cannot_start(error: &std::io::Error) -> Failure {
    Failure::Runtime(format!("the VM cannot be started: {}", cause(error)))
}

fn with_details(failure: Failure, details: &str) -> Failure {
    match failure {
        Failure::Runtime(message) => Failure::Runtime(format!("{message}{details}")),
        other => other,
    }
}
