//! The identity of a target, as journals and reports record it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::Storage;

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

    /// Whether both are certainly the same drive: worldwide identifier and size are equal, and serial numbers do not
    /// differ.
    pub fn is_same_drive(&self, other: &Identity) -> bool {
        let are_disks = self.kind == Kind::Disk && other.kind == Kind::Disk;
        let serials = self.lasting_serial().zip(other.lasting_serial());
        let is_equal = serials.is_none_or(|(one, other)| one == other) && self.size == other.size;
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
        // A path that does not show the serial number.
        let [one, two] = ["diskseq-1", "diskseq-2"].map(|serial| drive(wwid, Some(serial), 4096));
        assert!(one.is_same_drive(&two) && one.is_same_drive(&known));
        // Two cheap sticks: equal serial numbers, and no worldwide identifiers.
        let stick = drive(None, serial, 4096);
        assert_eq!(stick.likeness(&stick), by_serial);
        assert!(!stick.is_same_drive(&stick));
    }
}
