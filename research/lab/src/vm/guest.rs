//! A guest with the probe: boots it, or loads it from a snapshot; runs, stops and snapshots it.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;

use serde_json::json;
use squall_guests::emulator::{Arguments, Hardware, Host, Machine, PAUSE, Wait, escaped, reworded};
use squall_probe::{Command, LEN, State};
use squall_tool_base::Failure;

use super::memory::SharedMemory;
use super::spec::Spec;

/// A stopped machine, in a file that is removed on drop.
#[derive(Debug)]
pub struct Snapshot(PathBuf);

impl Snapshot {
    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// A running guest, which ends on drop.
#[derive(Debug)]
pub struct Guest<'host> {
    machine: Machine<'host>,
    memory: SharedMemory,
}

impl Guest<'_> {
    /// The shared memory with the guest's records.
    pub fn memory(&self) -> &SharedMemory {
        &self.memory
    }

    /// Resumes a stopped machine.
    pub fn resume(&mut self) -> Result<(), Failure> {
        self.machine.ask("cont", json!({})).map(drop)
    }

    /// Stops the machine, so that it records nothing more.
    pub fn stop(&mut self) -> Result<(), Failure> {
        self.machine.ask("stop", json!({})).map(drop)
    }

    /// Makes the probe draw and record, and waits until it has begun.
    pub fn run(&mut self) -> Result<(), Failure> {
        self.memory.send(Command::Run)?;
        self.wait("the probe to begin", |guest| {
            Ok(guest.memory.state()? == State::Running)
        })
    }

    /// Writes the stopped machine to `path`.
    pub fn snapshot(&mut self, path: PathBuf) -> Result<Snapshot, Failure> {
        let snapshot = Snapshot(path);
        self.machine.snapshot(snapshot.path())?;
        Ok(snapshot)
    }

    /// Waits until `done`, for at most the host's timeout.
    pub fn wait(
        &mut self,
        what: &str,
        mut done: impl FnMut(&mut Self) -> Result<bool, Failure>,
    ) -> Result<(), Failure> {
        let host = self.machine.host();
        let mut wait = Wait::new(what, host.timeout);
        loop {
            host.interrupt.check()?;
            if done(self)? {
                return Ok(());
            }
            self.check_probe()?;
            self.machine.check(&mut wait)?;
            sleep(PAUSE);
        }
    }

    fn check_probe(&self) -> Result<(), Failure> {
        if self.memory.state()? != State::Failed {
            return Ok(());
        }
        let message = self.memory.message()?;
        Err(Failure::Runtime(format!(
            "the probe in the VM failed: {message}"
        )))
    }
}

impl Drop for Guest<'_> {
    fn drop(&mut self) {
        let _ = fs::remove_file(self.memory.path());
    }
}

/// The failure of a machine that was loaded from a snapshot.
fn not_loaded(failure: Failure) -> Failure {
    reworded(failure, |message| {
        format!("the snapshot cannot be loaded: {message}")
    })
}

impl Spec {
    /// Boots a machine and waits until its probe is ready.
    pub fn boot<'host>(&self, host: &'host Host) -> Result<Guest<'host>, Failure> {
        let mut guest = self.start(host, None)?;
        guest.wait("the kernel to boot and the probe to start", |guest| {
            Ok(guest.memory.state()? == State::Ready)
        })?;
        Ok(guest)
    }

    /// Loads a machine from a snapshot. It stays stopped until [`Guest::resume`].
    pub fn load<'host>(
        &self,
        host: &'host Host,
        snapshot: &Snapshot,
    ) -> Result<Guest<'host>, Failure> {
        let mut guest = self.start(host, Some(snapshot.path()))?;
        guest.machine.wait_until_loaded().map_err(not_loaded)?;
        Ok(guest)
    }

    fn start<'host>(
        &self,
        host: &'host Host,
        snapshot: Option<&Path>,
    ) -> Result<Guest<'host>, Failure> {
        let number = host.next_number()?;
        let memory = SharedMemory::create(host.file(&format!("memory-{number}")))?;
        let mut arguments = arguments(self, memory.path());
        if let Some(snapshot) = snapshot {
            arguments.add("-incoming", format!("file:{}", escaped(snapshot)));
        }
        let mut machine = Machine::start(host, &self.qemu, number, arguments);
        if snapshot.is_some() {
            machine = machine.map_err(not_loaded);
        }
        let machine = machine?;
        Ok(Guest { machine, memory })
    }
}

fn arguments(spec: &Spec, memory: &Path) -> Arguments {
    let mut arguments = Arguments::new(&Hardware {
        accelerator: spec.accelerator.name(),
        architecture: spec.cpu.architecture(),
        cpu: &spec.cpu(),
        cpus: spec.cpus,
        memory_mib: spec.memory_mib(),
        kernel: &spec.kernel,
        initramfs: &spec.initramfs,
        command_line: &spec.command_line(),
    });
    let backend = format!("memory-backend-file,id=records,size={LEN},share=on,mem-path=");
    arguments.add("-object", backend + &escaped(memory));
    arguments.add("-device", "ivshmem-plain,memdev=records,master=on");
    if spec.signals.vmgenid {
        // A new identity at each start notifies the guest of a clone.
        arguments.add("-device", "vmgenid,guid=auto");
    }
    if spec.signals.vmclock {
        arguments.add("-device", "vmclock");
    }
    arguments
}
