//! Boots a machine with the probe, or loads it from a snapshot.

use std::path::Path;

use squall_probe::LEN;
use squall_tools::Failure;

use super::guest::{Guest, Snapshot, not_loaded};
use super::memory::SharedMemory;
use super::spec::Spec;
use squall_guests::emulator::{Arguments, Hardware, Host, Machine, escaped};

/// Guest memory, in MiB.
const MEMORY_MIB: usize = 256;

/// Guest CPUs: one can serve requests while another is told of a clone.
const CPUS: usize = 2;

impl Spec {
    /// Boots a machine and waits until its probe is ready.
    pub fn boot<'host>(&self, host: &'host Host) -> Result<Guest<'host>, Failure> {
        let mut guest = self.start(host, None)?;
        guest.wait_until_ready()?;
        Ok(guest)
    }

    /// Loads a machine from a snapshot. It stays stopped until [`Guest::resume`].
    pub fn load<'host>(
        &self,
        host: &'host Host,
        snapshot: &Snapshot,
    ) -> Result<Guest<'host>, Failure> {
        let mut guest = self.start(host, Some(snapshot.path()))?;
        guest.wait_until_loaded()?;
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
        let machine = Machine::start(host, number, arguments);
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
