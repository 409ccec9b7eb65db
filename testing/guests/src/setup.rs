//! Describes a guest to boot.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use squall_tool_base::Failure;

use crate::emulator::{Arguments, escaped};

/// Modules that the agent's port needs.
const PORT: [&str; 2] = ["virtio_pci", "virtio_console"];

/// How a drive is connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bus {
    /// Drives are `/dev/ubda`, and so on: those of user-mode Linux.
    Ubd,
    /// Drives are `/dev/vda`, and so on.
    VirtioBlk,
    /// Drives are `/dev/sda`, and so on; an unplugged drive is gone at once.
    VirtioScsi,
    /// Drives are `/dev/sda`, and so on, behind the kernel's translation from SCSI to ATA.
    Sata,
    /// Drives are `/dev/nvme0n1`, and so on.
    Nvme,
}

impl Bus {
    /// The bus's driver modules.
    fn modules(self) -> &'static [&'static str] {
        match self {
            Bus::Ubd => &[],
            Bus::VirtioBlk => &["virtio_blk"],
            Bus::VirtioScsi => &["virtio_scsi", "sd_mod"],
            Bus::Sata => &["ahci", "sd_mod"],
            Bus::Nvme => &["nvme"],
        }
    }

    /// QEMU's name for a drive on this bus.
    fn device(self) -> &'static str {
        match self {
            Bus::Ubd => unreachable!("a drive of user-mode Linux"),
            Bus::VirtioBlk => "virtio-blk-pci",
            Bus::VirtioScsi => "scsi-hd",
            Bus::Sata => "ide-hd",
            Bus::Nvme => "nvme",
        }
    }
}

/// The buses whose drives are at a controller of QEMU's, which is called after the bus.
const CONTROLLERS: [(Bus, &str); 2] = [
    (Bus::VirtioScsi, "virtio-scsi-pci,id=scsi"),
    (Bus::Sata, "ich9-ahci,id=sata"),
];

/// A drive, stored in a file on the host.
///
/// It has a volatile write cache, like real drives. What the guest has flushed is in the file and
/// survives a power cut; other data may be there too.
#[derive(Clone, Debug)]
pub struct Drive {
    /// The file, whose length is a multiple of the block size.
    pub path: PathBuf,
    /// The bus to which it is connected.
    pub bus: Bus,
    /// The serial number, of at most 20 characters.
    pub serial: String,
    /// The block size in bytes, 512 or 4096.
    pub block_size: usize,
}

impl Drive {
    /// A drive whose sectors have `block_size` bytes.
    pub fn new(path: impl Into<PathBuf>, bus: Bus, serial: &str, block_size: usize) -> Drive {
        Drive {
            path: path.into(),
            bus,
            serial: serial.into(),
            block_size,
        }
    }
}

/// The description of a guest.
#[derive(Clone, Debug)]
pub struct Setup<'a> {
    /// Modules that modprobe finds, with their dependencies. The drives' modules are always loaded.
    pub modules: &'a [&'a str],
    /// Whether modprobe also finds all crypto modules, of which there are about a hundred.
    pub crypto: bool,
    /// Drives, in order.
    pub drives: Vec<Drive>,
    /// Programs for /usr/bin, which must be static or need only libraries that the guest has.
    pub programs: &'a [&'a Path],
    /// Memory in MiB, which also holds files and the output of commands.
    pub memory_mib: usize,
    /// Number of CPUs. An emulated machine with two takes half again as much time of the host's CPUs.
    pub cpus: usize,
    /// Additions to QEMU's CPU, such as `,-vaes`.
    pub cpu: &'a str,
    /// Additions to the kernel's command line.
    pub command_line: &'a str,
    /// The identity that a vmgenid device shows, or `auto`. None if the guest has no such device.
    pub vmgenid: Option<&'a str>,
    /// Files with the contents of more ACPI tables (SSDT), without their headers.
    pub acpi_tables: Vec<PathBuf>,
}

impl Default for Setup<'_> {
    fn default() -> Self {
        Setup {
            modules: &[],
            crypto: false,
            drives: Vec::new(),
            programs: &[],
            memory_mib: 512,
            cpus: 1,
            cpu: "",
            command_line: "",
            vmgenid: None,
            acpi_tables: Vec::new(),
        }
    }
}

impl Setup<'_> {
    /// The modules that the agent's port and the drives need.
    pub(super) fn drivers(&self) -> Vec<&'static str> {
        let modules = self.drives.iter().flat_map(|drive| drive.bus.modules());
        let modules: BTreeSet<_> = modules.chain(&PORT).copied().collect();
        modules.into_iter().collect()
    }

    /// Adds what the firmware tells the guest to QEMU's arguments.
    pub(super) fn add_firmware(&self, arguments: &mut Arguments) {
        if let Some(identity) = self.vmgenid {
            arguments.add("-device", format!("vmgenid,guid={identity}"));
        }
        for table in &self.acpi_tables {
            let options = "sig=SSDT,rev=2,oem_id=SQUALL,oem_table_id=LAB,data=";
            arguments.add("-acpitable", format!("{options}{}", escaped(table)));
        }
    }

    /// Adds the drives to QEMU's arguments.
    pub(super) fn add_drives(&self, arguments: &mut Arguments) {
        for (bus, controller) in CONTROLLERS {
            if self.drives.iter().any(|drive| drive.bus == bus) {
                arguments.add("-device", controller);
            }
        }
        for (number, drive) in self.drives.iter().enumerate() {
            let block = json!({
                "driver": "raw",
                "node-name": medium(number),
                "discard": "unmap",
                // Several drives may be on one file.
                "file": {
                    "driver": "file",
                    "filename": drive.path.to_string_lossy(),
                    "locking": "off",
                },
            });
            arguments.add("-blockdev", block.to_string());
            arguments.add("-device", device(&self.drives, number).to_string());
        }
    }
}

/// QEMU's description of the drive of this number.
pub(super) fn device(drives: &[Drive], number: usize) -> Value {
    let drive = &drives[number];
    let mut device = json!({
        "driver": drive.bus.device(),
        "id": id(number),
        "drive": medium(number),
        "serial": drive.serial,
        "logical_block_size": drive.block_size,
        "physical_block_size": drive.block_size,
    });
    let bus = match drive.bus {
        Bus::Ubd | Bus::VirtioBlk | Bus::Nvme => return device,
        Bus::VirtioScsi => "scsi.0".into(),
        Bus::Sata => {
            let before = drives[..number].iter();
            let port = before.filter(|other| other.bus == Bus::Sata).count();
            format!("sata.{port}")
        }
    };
    device["bus"] = json!(bus);
    device
}

/// QEMU's name for the contents of the drive of this number.
pub(super) fn medium(number: usize) -> String {
    format!("medium{number}")
}

/// The number of the drive with this serial number.
pub(super) fn number_of(drives: &[Drive], serial: &str) -> Result<usize, Failure> {
    let found = drives.iter().position(|drive| drive.serial == serial);
    found.ok_or_else(|| Failure::Runtime(format!("the VM has no drive {serial}")))
}

pub(super) fn id(number: usize) -> String {
    format!("drive{number}")
}
