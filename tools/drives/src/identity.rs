//! The identity of a target, as journals and reports record it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Prefix of a serial number that comes from the kernel and not from the maker.
pub(crate) const ATTACHMENT: &str = "diskseq-";

/// What identifies a target. Two targets with equal identities are the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Identity {
    /// The name on the command line.
    pub given: PathBuf,
    /// `given` with all links resolved.
    pub path: PathBuf,
    pub kind: Kind,
    /// Length in bytes.
    pub size: u64,
    /// Bytes per logical sector; for a file, the unit of direct transfers.
    pub sector: u32,
    /// The model name, if the kernel knows it.
    pub model: Option<String>,
    /// The maker's serial number, or else the kernel's number for this attachment (`diskseq-12`).
    pub serial: Option<String>,
    /// The worldwide identifier (WWN, NVMe's EUI-64 or NGUID).
    pub wwid: Option<String>,
    /// `major:minor` of a device; `device:inode` of a file.
    pub number: String,
    /// Whether the drive is flash; `None` if the kernel does not know, or the target is not a drive.
    pub flash: Option<bool>,
    /// What holds the bytes.
    // Older journals do not say it.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(!default))]
    pub storage: Storage,
}

impl Identity {
    /// The serial number, if it stays the same wherever the drive is attached.
    pub fn lasting_serial(&self) -> Option<&str> {
        let serial = self.serial.as_deref()?;
        (!serial.starts_with(ATTACHMENT)).then_some(serial)
    }

    /// Whether both are certainly the same drive: worldwide identifier, serial number and size are equal.
    pub fn is_same_drive(&self, other: &Identity) -> bool {
        let are_disks = self.kind == Kind::Disk && other.kind == Kind::Disk;
        let is_equal = self.lasting_serial() == other.lasting_serial() && self.size == other.size;
        are_disks && is_equal && self.wwid.is_some() && self.wwid == other.wwid
    }

    /// What is equal, if both may be the same drive; `None` if they are two. An adapter may show other names than the
    /// drive's own, so one that is equal counts more than one that is not.
    pub fn likeness(&self, other: &Identity) -> Option<Likeness> {
        let is_equal = |one: Option<&str>, other: Option<&str>| Some(one? == other?);
        let wwid = is_equal(self.wwid.as_deref(), other.wwid.as_deref());
        let serial = is_equal(self.lasting_serial(), other.lasting_serial());
        match (wwid, serial) {
            _ if self.size != other.size => None,
            (Some(true), _) => Some(Likeness::Wwid),
            (_, Some(true)) => Some(Likeness::Serial),
            (None, None) => Some(Likeness::Size),
            _ => None,
        }
    }
}

/// What two drives of the same size have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Likeness {
    Wwid,
    Serial,
    /// Nothing else, and no name that both have tells them apart.
    Size,
}

impl Likeness {
    /// What is equal, for a sentence.
    pub fn words(self) -> &'static str {
        match self {
            Likeness::Wwid => "worldwide identifier and size",
            Likeness::Serial => "serial number and size",
            Likeness::Size => "size",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A whole drive, or what a controller, a host or another machine shows as one.
    Disk,
    /// A whole device that a driver of the kernel makes of something else: RAID, memory, a network, a program.
    Virtual,
    Partition,
    Loop,
    /// A mapped device (dm).
    Mapped,
    File,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::Disk => "drive",
            Kind::Virtual => "virtual device",
            Kind::Partition => "partition",
            Kind::Loop => "loop device",
            Kind::Mapped => "mapped device",
            Kind::File => "file",
        }
    }
}

/// What holds a target's bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Storage {
    /// A medium in or at this machine, as far as the kernel shows.
    Medium,
    /// Several drives, by md or a RAID controller.
    Array,
    /// Other devices, or a file: of a mapped device, a loop device, bcache.
    Layers,
    /// A file system.
    FileSystem,
    /// This machine's memory.
    Memory,
    /// Another machine.
    Network,
    /// The host of this virtual machine.
    Host,
    /// A program.
    Program,
    /// It is not known.
    #[default]
    Unknown,
}

impl Storage {
    /// What holds the bytes, for a sentence.
    pub fn words(self) -> &'static str {
        match self {
            Storage::Medium => "a drive",
            Storage::Array => "an array of drives",
            Storage::Layers => "other devices or a file",
            Storage::FileSystem => "a file system",
            Storage::Memory => "this machine's memory",
            Storage::Network => "another machine",
            Storage::Host => "the host of this virtual machine",
            Storage::Program => "a program",
            Storage::Unknown => "something that squall does not know",
        }
    }

    /// Where older copies may be that overwriting does not reach, if that is not a drive.
    pub fn out_of_reach(self) -> &'static str {
        match self {
            Storage::Medium => "",
            Storage::Array => {
                "This is an array of drives, not a drive. Drives that have left it keep what they held, and its own \
                 records on its members (superblocks, bitmaps, journals) were not overwritten, nor what lies beside \
                 it there. Wipe each drive by itself."
            }
            Storage::Layers => {
                "This device lies on others, which may move data between them, keep older copies or have spare \
                 cells: what holds for them holds for it."
            }
            Storage::FileSystem => {
                "The file's bytes were overwritten where the filesystem keeps them. A filesystem that writes \
                 elsewhere (btrfs, ZFS, bcachefs, some of XFS), a journal of data, a snapshot or a backup may hold \
                 older copies; so may the spare cells of flash."
            }
            Storage::Memory => {
                "This device is in the machine's memory, and ends with the machine at the latest. What was written \
                 out from there to swap or to a backing device was not overwritten."
            }
            Storage::Network => {
                "Another machine holds these bytes, on drives that this one does not see. Snapshots, replicas, \
                 caches and freed blocks there may hold older copies."
            }
            Storage::Host => {
                "The host of this virtual machine holds these bytes, in a file or on drives that this machine does \
                 not see. Snapshots, replicas, backups and freed blocks there may hold older copies."
            }
            Storage::Program => {
                "A program holds these bytes, where this machine's kernel does not see. It may keep older copies."
            }
            Storage::Unknown => {
                "squall does not know what holds the bytes of this device, nor whether older copies are kept there."
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use squall_testing::loops::Lab;

    use super::*;
    use crate::target::tests::find;

    #[test]
    fn only_a_worldwide_identifier_makes_certain() {
        let any = find(&Lab::new().image("image", 4096)).identity;
        let drive = |wwid: Option<&str>, serial: Option<&str>, size| Identity {
            kind: Kind::Disk,
            size,
            serial: serial.map(str::to_owned),
            wwid: wwid.map(str::to_owned),
            ..any.clone()
        };
        let (wwid, serial) = (Some("naa.1"), Some("WD-1"));
        let known = drive(wwid, serial, 4096);
        let (by_wwid, by_serial) = (Some(Likeness::Wwid), Some(Likeness::Serial));
        for (other, likeness) in [
            (known.clone(), by_wwid),
            (drive(wwid, serial, 8192), None),
            (drive(Some("naa.2"), Some("WD-2"), 4096), None),
            (drive(None, Some("WD-2"), 4096), None),
            (drive(Some("naa.2"), None, 4096), None),
            // An adapter may have hidden the one or the other.
            (drive(Some("naa.2"), serial, 4096), by_serial),
            (drive(wwid, Some("WD-2"), 4096), by_wwid),
            (drive(None, serial, 4096), by_serial),
            (drive(None, Some("diskseq-2"), 4096), Some(Likeness::Size)),
        ] {
            assert_eq!(known.likeness(&other), likeness, "{other:?}");
            assert_eq!(known.is_same_drive(&other), other == known, "{other:?}");
        }
        // Two cheap sticks: equal serial numbers, and no worldwide identifiers.
        let stick = drive(None, serial, 4096);
        assert_eq!(stick.likeness(&stick), by_serial);
        assert!(!stick.is_same_drive(&stick));
    }
}
