//! Starts QEMU: its arguments, its files, and what it said when it ended too early.

use std::cell::Cell;
use std::ffi::OsString;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use squall_command::failure::{at, cause};
use squall_command::{Failure, Interrupt};
use squall_trace::LEN;
use tempfile::TempDir;

use super::guest::{Guest, Process, Snapshot, not_loaded};
use super::memory::SharedMemory;
use super::parent::end_with_us;
use super::spec::Spec;
use crate::debian::Qemu;

/// Guest memory, in MiB.
const MEMORY_MIB: usize = 256;

/// Guest CPUs: one may serve requests while another is told of a clone.
const CPUS: usize = 2;

/// Where guests run: a QEMU, and a directory for their files that goes when this does.
#[derive(Debug)]
pub struct Host {
    qemu: Qemu,
    directory: TempDir,
    started: Cell<usize>,
    pub(super) interrupt: Interrupt,
    pub(super) patience: Duration,
}

impl Host {
    /// A host that gives up on a guest that makes no progress within `patience`.
    pub fn new(qemu: Qemu, interrupt: Interrupt, patience: Duration) -> Result<Host, Failure> {
        let directory = tempfile::Builder::new()
            .prefix("squall-lab-")
            .tempdir()
            .map_err(at(&std::env::temp_dir()))?;
        Ok(Host {
            qemu,
            directory,
            started: Cell::new(0),
            interrupt,
            patience,
        })
    }

    /// A place for a file that goes with the host.
    pub fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Boots a machine; its probe is ready when this returns.
    pub fn boot(&self, spec: &Spec) -> Result<Guest<'_>, Failure> {
        let mut guest = self.start(spec, None)?;
        guest.wait_until_ready()?;
        Ok(guest)
    }

    /// Loads a machine from a snapshot; it stands still until [`Guest::go_on`].
    pub fn load(&self, spec: &Spec, snapshot: &Snapshot) -> Result<Guest<'_>, Failure> {
        let mut guest = self.start(spec, Some(snapshot.path()))?;
        guest.wait_until_loaded()?;
        Ok(guest)
    }

    fn start(&self, spec: &Spec, snapshot: Option<&Path>) -> Result<Guest<'_>, Failure> {
        self.interrupt.check()?;
        let number = self.started.replace(self.started.get() + 1);
        let memory = SharedMemory::create(self.file(&format!("memory-{number}")))?;
        let files = Files {
            console: self.file(&format!("console-{number}")),
            messages: self.file(&format!("messages-{number}")),
        };
        let (ours, theirs) = UnixStream::pair().map_err(|error| cannot_start(&error))?;
        let mut command = Command::new(&self.qemu.program);
        command.args(&self.qemu.first_arguments).args(arguments(
            spec,
            memory.path(),
            &files.console,
        ));
        if let Some(snapshot) = snapshot {
            command.arg("-incoming").arg(with_path("file:", snapshot));
        }
        let process = spawn(command, theirs, &files.messages)?;
        let guest = Guest::new(self, process, ours, memory, files);
        match snapshot {
            Some(_) => guest.map_err(not_loaded),
            None => guest,
        }
    }
}

/// What a guest and its QEMU say.
#[derive(Debug)]
pub(super) struct Files {
    console: PathBuf,
    messages: PathBuf,
}

impl Files {
    /// The line of QEMU's messages, or else of the guest's console, that tells most, to end a
    /// sentence with.
    pub fn last_words(&self) -> String {
        let (messages, console) = (lines(&self.messages), lines(&self.console));
        let said = complaint(&messages).map(|line| format!("; QEMU says: {line}"));
        let shown = || end(&console).map(|line| format!("; its console says: {line}"));
        said.or_else(shown).unwrap_or_default()
    }

    /// Removes the files.
    pub fn remove(&self) {
        for path in [&self.console, &self.messages] {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// The lines of a file that are not empty; none if it cannot be read.
fn lines(path: &Path) -> Vec<String> {
    let text = std::fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.map(str::to_owned).collect()
}

/// QEMU's first error. Hints and registers may follow it.
fn complaint(messages: &[String]) -> Option<&String> {
    messages.iter().find(|line| !line.contains("warning:"))
}

/// Why the kernel ended, or else the last that it said: a panic is followed by a trace.
fn end(console: &[String]) -> Option<&String> {
    let panic = console.iter().find(|line| line.contains("Kernel panic"));
    panic.or(console.last())
}

/// Starts QEMU. The command goes, and with it our copy of QEMU's end of `control`: only so is it
/// closed when QEMU ends.
fn spawn(mut command: Command, control: UnixStream, messages: &Path) -> Result<Process, Failure> {
    let input = OwnedFd::from(control);
    let output = input.try_clone().map_err(|error| cannot_start(&error))?;
    let messages = File::create(messages).map_err(|error| cannot_start(&error))?;
    end_with_us(&mut command);
    command
        .stdin(Stdio::from(input))
        .stdout(Stdio::from(output))
        .stderr(Stdio::from(messages))
        .spawn()
        .map(Process)
        .map_err(|error| cannot_start(&error))
}

fn arguments(spec: &Spec, memory: &Path, console: &Path) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = Vec::new();
    let mut add = |option: &str, value: OsString| arguments.extend([option.into(), value]);
    // The control socket is on standard input and output; nothing else is asked for.
    add("-qmp", "stdio".into());
    add("-display", "none".into());
    add("-accel", spec.accelerator.name().into());
    add("-cpu", spec.accelerator.cpu().into());
    add("-smp", CPUS.to_string().into());
    add("-m", MEMORY_MIB.to_string().into());
    add("-serial", with_path("file:", console));
    add("-kernel", spec.kernel.clone().into());
    add("-initrd", spec.initramfs.clone().into());
    add("-append", spec.command_line().into());
    let backend = format!("memory-backend-file,id=records,size={LEN},share=on,mem-path=");
    add("-object", with_path(&backend, memory));
    add("-device", "ivshmem-plain,memdev=records,master=on".into());
    if spec.signals.vmgenid {
        // A new identity at each start.
        add("-device", "vmgenid,guid=auto".into());
    }
    if spec.signals.vmclock {
        add("-device", "vmclock".into());
    }
    arguments.extend(["-nodefaults", "-no-user-config", "-no-reboot"].map(OsString::from));
    arguments
}

/// `prefix` and a path; QEMU reads two commas as one.
fn with_path(prefix: &str, path: &Path) -> OsString {
    let path = path.to_string_lossy().replace(',', ",,");
    format!("{prefix}{path}").into()
}

fn cannot_start(error: &std::io::Error) -> Failure {
    Failure::Runtime(format!("QEMU cannot be started: {}", cause(error)))
}
