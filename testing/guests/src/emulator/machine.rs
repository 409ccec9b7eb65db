//! Where guests run, and a running machine: starts it, sends it commands, waits for it, and ends it. What its
//! kernel and QEMU say is in files that are removed with it.

use std::cell::Cell;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use squall_tool_base::failure::{at, cause};
use squall_tool_base::{Failure, Interrupt};
use tempfile::TempDir;

use super::arguments::{Arguments, escaped};
use super::qmp::Qmp;
use crate::debian::Qemu;

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
    /// Starts a machine in QEMU. `number` makes its files' names unique.
    pub fn start(
        host: &'host Host,
        qemu: &Qemu,
        number: usize,
        mut arguments: Arguments,
    ) -> Result<Machine<'host>, Failure> {
        let logs = Logs::of(host, number);
        arguments.add("-serial", format!("file:{}", escaped(&logs.console)));
        let mut command = Command::new(&qemu.program);
        command
            .args(&qemu.first_arguments)
            .args(arguments.into_list());
        let (ours, theirs) = UnixStream::pair().map_err(|error| cannot_start(&error))?;
        let input = OwnedFd::from(theirs);
        let output = input.try_clone().map_err(|error| cannot_start(&error))?;
        command.stdin(input).stdout(output);
        let process = spawn(command, &logs.messages)?;
        let control = Qmp::new(ours, host.timeout)
            .map_err(|failure| reworded(failure, |message| message + &logs.last_message()))?;
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

    /// Waits until `done`, for at most `limit`.
    pub fn wait(
        &mut self,
        what: &str,
        limit: Duration,
        mut done: impl FnMut(&mut Self) -> Result<bool, Failure>,
    ) -> Result<(), Failure> {
        let mut wait = Wait::new(what, limit);
        while !done(self)? {
            self.host.interrupt.check()?;
            self.check(&mut wait)?;
            sleep(PAUSE);
        }
        Ok(())
    }

    /// Writes the stopped machine to the file `path`.
    pub fn snapshot(&mut self, path: &Path) -> Result<(), Failure> {
        let uri = format!("file:{}", path.display());
        self.ask("migrate", json!({ "uri": uri }))?;
        let what = "the snapshot to be written";
        self.wait(what, self.host.timeout, |machine| {
            let progress = machine.ask("query-migrate", json!({}))?;
            match progress["status"].as_str() {
                Some("failed") => {
                    let reason = progress["error-desc"].as_str().unwrap_or("no reason given");
                    let text = format!("the snapshot cannot be written: {reason}");
                    Err(Failure::Runtime(text))
                }
                status => Ok(status == Some("completed")),
            }
        })
    }

    /// Waits until the snapshot that it was started with is loaded.
    pub fn wait_until_loaded(&mut self) -> Result<(), Failure> {
        let what = "the snapshot to be loaded";
        self.wait(what, self.host.timeout, |machine| {
            let status = machine.ask("query-status", json!({}))?;
            Ok(status["status"] != "inmigrate")
        })
    }

    /// Waits until the machine has switched itself off, and returns what its kernel and its programs have
    /// written to the console.
    pub fn end(mut self, what: &str) -> Result<String, Failure> {
        let mut wait = Wait::new(what, self.host.timeout);
        loop {
            self.host.interrupt.check()?;
            match self.process.exit_status() {
                Some(status) if status.success() => return Ok(self.console()),
                status => self.check_status(&mut wait, status)?,
            }
            sleep(PAUSE);
        }
    }

    /// Fails if waiting is pointless: the machine has ended, QEMU has given it up, or the time is over.
    pub fn check(&mut self, wait: &mut Wait) -> Result<(), Failure> {
        let status = self.process.exit_status();
        self.check_status(wait, status)
    }

    fn check_status(&mut self, wait: &mut Wait, status: Option<ExitStatus>) -> Result<(), Failure> {
        let what = wait.what;
        if let Some(status) = status {
            let reason = format!("the VM ended while waiting for {what}: {status}");
            return Err(self.end_and_explain(Failure::Runtime(reason)));
        }
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
        reworded(failure, |message| message + &self.logs.last_message())
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

/// Makes the kernel kill the process of `command` when the thread that starts it ends. This takes
/// effect before QEMU runs; QEMU's own option for it takes effect only some time after its start.
#[allow(unsafe_code)]
fn kill_with_parent(command: &mut Command) {
    let lab = std::process::id();
    let set_death_signal = move || {
        // SAFETY: the call takes only numbers.
        if unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } == -1 {
            return Err(std::io::Error::last_os_error());
        }
        // SAFETY: the call has no arguments and always succeeds.
        let parent = unsafe { libc::getppid() };
        if u32::try_from(parent) == Ok(lab) {
            Ok(())
        } else {
            Err(std::io::ErrorKind::BrokenPipe.into())
        }
    };
    // SAFETY: between fork and exec, `set_death_signal` only makes system calls, and allocates nothing.
    unsafe { command.pre_exec(set_death_signal) };
}

fn cannot_start(error: &std::io::Error) -> Failure {
    Failure::Runtime(format!("the VM cannot be started: {}", cause(error)))
}

/// The failure with another message.
pub fn reworded(failure: Failure, reword: impl FnOnce(String) -> String) -> Failure {
    match failure {
        Failure::Runtime(message) => Failure::Runtime(reword(message)),
        other => other,
    }
}

/// Where guests run: a directory for their files, which is removed on drop, and how long they are waited for.
#[derive(Debug)]
pub struct Host {
    directory: TempDir,
    guests_started: Cell<usize>,
    pub interrupt: Interrupt,
    pub timeout: Duration,
}

impl Host {
    /// A host that gives up on a guest that makes no progress within `timeout`.
    pub fn new(interrupt: Interrupt, timeout: Duration) -> Result<Host, Failure> {
        let directory = tempfile::Builder::new()
            .prefix("squall-lab-")
            .tempdir()
            .map_err(at(&std::env::temp_dir()))?;
        Ok(Host {
            directory,
            guests_started: Cell::new(0),
            interrupt,
            timeout,
        })
    }

    /// A path for a file that is removed with the host.
    pub fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The number of the next guest. Fails if the user has interrupted the lab.
    pub fn next_number(&self) -> Result<usize, Failure> {
        self.interrupt.check()?;
        Ok(self.guests_started.replace(self.guests_started.get() + 1))
    }
}

/// The files with the messages.
#[derive(Debug)]
pub struct Logs {
    /// The guest kernel's console.
    pub console: PathBuf,
    /// QEMU's standard error.
    pub messages: PathBuf,
}

impl Logs {
    /// The files of the machine of this number.
    pub fn of(host: &Host, number: usize) -> Logs {
        Logs {
            console: host.file(&format!("console-{number}")),
            messages: host.file(&format!("messages-{number}")),
        }
    }

    /// The most informative line of QEMU's messages, or else of the guest's console, as the end of a
    /// sentence.
    pub fn last_message(&self) -> String {
        let (messages, console) = (lines(&self.messages), lines(&self.console));
        let qemu = first_error(&messages).map(|line| format!("; QEMU says: {line}"));
        let kernel = || panic_or_last(&console).map(|line| format!("; its console says: {line}"));
        qemu.or_else(kernel).unwrap_or_default()
    }
}

impl Drop for Logs {
    fn drop(&mut self) {
        for path in [&self.console, &self.messages] {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// The non-empty lines of a file. Empty if it cannot be read.
fn lines(path: &Path) -> Vec<String> {
    let text = std::fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.map(str::to_owned).collect()
}

/// QEMU's first line that is not a warning. Hints and registers may follow it.
fn first_error(messages: &[String]) -> Option<&String> {
    messages.iter().find(|line| !line.contains("warning:"))
}

/// The line that reports a kernel panic (a trace follows it), or else the last line.
fn panic_or_last(console: &[String]) -> Option<&String> {
    let panic = console.iter().find(|line| line.contains("Kernel panic"));
    panic.or(console.last())
}
