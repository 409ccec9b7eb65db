//! Boots a machine with the probe, or loads it from a snapshot.

use std::path::Path;

use squall_probe::LEN;
use squall_tools::Failure;

use super::guest::{Guest, Snapshot, not_loaded};
use super::memory::SharedMemory;
use super::spec::Spec;
use crate::emulator::{Arguments, Hardware, Host, Machine, escaped};

/// Guest memory, in MiB.
const MEMORY_MIB: usize = 256;

/// Guest CPUs: one can serve requests while another is told of a clone.
const CPUS: usize = 2;

impl Host {
    /// Boots a machine and waits until its probe is ready.
    pub fn boot(&self, spec: &Spec) -> Result<Guest<'_>, Failure> {
        let mut guest = self.start(spec, None)?;
        guest.wait_until_ready()?;
        Ok(guest)
    }

    /// Loads a machine from a snapshot. It stays stopped until [`Guest::resume`].
    pub fn load(&self, spec: &Spec, snapshot: &Snapshot) -> Result<Guest<'_>, Failure> {
        let mut guest = self.start(spec, Some(snapshot.path()))?;
        guest.wait_until_loaded()?;
        Ok(guest)
    }

    fn start(&self, spec: &Spec, snapshot: Option<&Path>) -> Result<Guest<'_>, Failure> {
        let number = self.next_number()?;
        let memory = SharedMemory::create(self.file(&format!("memory-{number}")))?;
        let mut arguments = arguments(spec, memory.path());
        if let Some(snapshot) = snapshot {
            arguments.add("-incoming", format!("file:{}", escaped(snapshot)));
        }
        let machine = Machine::start(self, number, arguments);
        let machine = match snapshot {
            Some(_) => machine.map_err(not_loaded),
            None => machine,
        };
        Ok(Guest::new(machine?, memory))
    }
}

fn arguments(spec: &Spec, memory: &Path) -> Arguments {
    let mut arguments = Arguments::new(&Hardware {
        accelerator: spec.accelerator.name(),
        board: spec.cpu.board(),
        cpu: &spec.cpu(),
        cpus: CPUS,
        memory_mib: MEMORY_MIB,
        kernel: &spec.kernel,
        initramfs: &spec.initramfs,
        command_line: &spec.command_line(),
    });
    let backend = format!("memory-backend-file,id=records,size={LEN},share=on,mem-path=");
    arguments.add("-object", backend + &escaped(memory));
    arguments.add("-device", "ivshmem-plain,memdev=records,master=on");
    if spec.signals.vmgenid {
        // A new identity at each start tells the guest of a clone.
        arguments.add("-device", "vmgenid,guid=auto");
    }
    if spec.signals.vmclock {
        arguments.add("-device", "vmclock");
    }
    arguments
}
