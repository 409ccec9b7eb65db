//! What a guest is made of.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::json;
use squall_tools::Failure;

use crate::emulator::Arguments;

/// Longest serial number that every bus takes.
const SERIAL_LEN: usize = 20;

/// How a drive is connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bus {
    /// `/dev/vda`, and so on.
    VirtioBlk,
    /// `/dev/sda`, and so on; an unplugged one is gone at once.
    VirtioScsi,
    /// `/dev/nvme0n1`, and so on.
    Nvme,
}

impl Bus {
    /// The modules of its drivers.
    fn modules(self) -> &'static [&'static str] {
        match self {
            Bus::VirtioBlk => &["virtio_blk"],
            Bus::VirtioScsi => &["virtio_scsi", "sd_mod"],
            Bus::Nvme => &["nvme"],
        }
    }

    /// QEMU's name of a drive on it.
    fn device(self) -> &'static str {
        match self {
            Bus::VirtioBlk => "virtio-blk-pci",
            Bus::VirtioScsi => "scsi-hd",
            Bus::Nvme => "nvme",
        }
    }
}

/// A drive: a file of the host.
///
/// It has a volatile write cache, as drives have. What the guest has flushed is in the file, and
/// survives a power cut; what it has not may be there as well.
#[derive(Clone, Debug)]
pub struct Drive {
    /// The file; its length is a multiple of the block size.
    pub path: PathBuf,
    /// How it is connected.
    pub bus: Bus,
    /// Its serial number, not longer than 20 letters.
    pub serial: String,
    /// 512 or 4096 bytes.
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

/// A guest that is to be.
#[derive(Clone, Debug)]
pub struct Setup<'a> {
    /// Modules that modprobe finds, with all they need; those of the drives are loaded anyway.
    pub modules: &'a [&'a str],
    /// Whether modprobe finds all crypto modules as well: about a hundred.
    pub crypto: bool,
    /// Drives, in order.
    pub drives: Vec<Drive>,
    /// Programs to put into /usr/bin; they must be static, or need no library that is not there.
    pub programs: &'a [&'a Path],
    /// Memory, in MiB; files and what commands print are in it.
    pub memory_mib: usize,
    /// CPUs.
    pub cpus: usize,
    /// What else the kernel is told.
    pub command_line: &'a str,
}

impl Default for Setup<'_> {
    fn default() -> Self {
        Setup {
            modules: &[],
            crypto: false,
            drives: Vec::new(),
            programs: &[],
            memory_mib: 512,
            cpus: 2,
            command_line: "",
        }
    }
}

impl Setup<'_> {
    /// Whether it can be.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let wrong = |drive: &&Drive| drive.serial.is_empty() || drive.serial.len() > SERIAL_LEN;
        match self.drives.iter().find(wrong) {
            Some(drive) => Err(Failure::Runtime(format!(
                "{:?} is no serial number of a drive: it has 1 to {SERIAL_LEN} letters",
                drive.serial
            ))),
            None => Ok(()),
        }
    }

    /// The modules that its drives need.
    pub(super) fn drivers(&self) -> Vec<&'static str> {
        let modules = self.drives.iter().flat_map(|drive| drive.bus.modules());
        let modules: BTreeSet<_> = modules.copied().collect();
        modules.into_iter().collect()
    }

    /// Adds QEMU's arguments for the drives.
    pub(super) fn add_drives(&self, arguments: &mut Arguments) {
        if self.drives.iter().any(|drive| drive.bus == Bus::VirtioScsi) {
            arguments.add("-device", "virtio-scsi-pci,id=scsi");
        }
        for (number, drive) in self.drives.iter().enumerate() {
            let (id, medium) = (id(number), format!("medium{number}"));
            let block = json!({
                "driver": "raw",
                "node-name": medium,
                "discard": "unmap",
                "file": { "driver": "file", "filename": drive.path.to_string_lossy() },
            });
            arguments.add("-blockdev", block.to_string());
            let mut device = json!({
                "driver": drive.bus.device(),
                "id": id,
                "drive": medium,
                "serial": drive.serial,
                "logical_block_size": drive.block_size,
                "physical_block_size": drive.block_size,
            });
            if drive.bus == Bus::VirtioScsi {
                device["bus"] = json!("scsi.0");
            }
            arguments.add("-device", device.to_string());
        }
    }
}

/// QEMU's name of the drive with this serial number.
pub(super) fn id_of(drives: &[Drive], serial: &str) -> Result<String, Failure> {
    let found = drives.iter().position(|drive| drive.serial == serial);
    let number = found.ok_or_else(|| Failure::Runtime(format!("the VM has no drive {serial}")))?;
    Ok(id(number))
}

fn id(number: usize) -> String {
    format!("drive{number}")
}
