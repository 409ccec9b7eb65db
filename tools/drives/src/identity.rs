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
}

impl Identity {
    /// The serial number, if it stays the same wherever the drive is attached.
    pub fn lasting_serial(&self) -> Option<&str> {
        let serial = self.serial.as_deref()?;
        (!serial.starts_with(ATTACHMENT)).then_some(serial)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A whole drive, or what the kernel shows as one.
    Disk,
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
            Kind::Partition => "partition",
            Kind::Loop => "loop device",
            Kind::Mapped => "mapped device",
            Kind::File => "file",
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::target::tests::find;
    use squall_testing::loops::Lab;

    #[test]
    fn attachment_numbers_are_no_lasting_serials() {
        let mut identity = find(&Lab::new().image("image", 4096)).identity;
        for (serial, lasting) in [
            (Some("WD-WX12A3456789-part1"), true),
            (Some("diskseq-12"), false),
            (Some("diskseq-12-part1"), false),
            (None, false),
        ] {
            identity.serial = serial.map(str::to_owned);
            assert_eq!(identity.lasting_serial(), serial.filter(|_| lasting));
        }
    }
}
