//! What a target is, as it is recorded.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// What a serial number that is the kernel's begins with.
pub(crate) const ATTACHMENT: &str = "diskseq-";

/// What a target is. Two that are equal in all of it are the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The name that was given.
    pub given: PathBuf,
    /// Where that leads, without links.
    pub path: PathBuf,
    pub kind: Kind,
    /// Length in bytes.
    pub size: u64,
    /// The unit of its transfers, in bytes; of a file, that of direct ones.
    pub sector: u32,
    /// What it is made of, as far as the kernel tells.
    pub model: Option<String>,
    /// Its maker's number, or else the kernel's for this attachment of it (`diskseq-12`).
    pub serial: Option<String>,
    /// Its name in the world (WWN, NVMe's EUI-64 or NGUID).
    pub wwid: Option<String>,
    /// `major:minor` of a device; `device:inode` of a file.
    pub number: String,
    /// Whether it is flash; nothing if the kernel does not know, or it is no drive.
    pub flash: Option<bool>,
}

impl Identity {
    /// Its serial number, if that stays with it wherever it is attached.
    pub fn lasting_serial(&self) -> Option<&str> {
        let serial = self.serial.as_deref()?;
        (!serial.starts_with(ATTACHMENT)).then_some(serial)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A whole drive, or what the kernel shows as one.
    Disk,
    /// A part of one.
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
    fn numbers_of_attachments_do_not_last() {
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
