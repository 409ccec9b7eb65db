//! The record of a drive's own erase: how it was done, what was sent to the drive and what it answered.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A drive's own erase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Purge {
    /// How the drive erases itself.
    pub means: Means,
    /// When it began.
    pub began: Option<Timestamp>,
    /// When it ended, successfully or not.
    pub ended: Option<Timestamp>,
    /// Why it failed, if it did.
    pub failure: Option<String>,
    /// The number of the drive in this job, counted from 0, whose erase reaches this drive too: both
    /// are namespaces of one NVM subsystem. `None` if this drive is erased by itself.
    pub with: Option<usize>,
    /// What was sent and answered, if the means is a sanitize operation.
    pub sanitize: Option<Sanitize>,
}

/// A sanitize operation, which a drive carries out by itself after it has accepted the command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sanitize {
    /// Whether the operation was already under way when it was first asked about.
    pub found_under_way: bool,
    /// When the drive accepted the command, or was found at work.
    pub accepted: Option<Timestamp>,
    /// Model and serial number as the drive itself told them, if it is an ATA drive: those of the target may be an
    /// adapter's.
    pub own_name: Option<String>,
    /// Every command that changes something, and the answers about the state that decided.
    pub exchanges: Vec<Exchange>,
}

/// A command and its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Exchange {
    /// When it was answered.
    pub at: Timestamp,
    /// The command's name, and its bytes or words in hexadecimal digits.
    pub sent: String,
    /// What the drive answered.
    pub answered: String,
}

impl Purge {
    /// An erase that is asked for and has not begun.
    pub fn asked(means: Means) -> Purge {
        Purge {
            means,
            began: None,
            ended: None,
            failure: None,
            with: None,
            sanitize: None,
        }
    }

    /// How the drive erased itself, if it did.
    pub fn done(&self) -> Option<Means> {
        (self.ended.is_some() && self.failure.is_none()).then_some(self.means)
    }
}

/// How a drive erases itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Means {
    /// Sanitize of NVM Express, with the action Block Erase.
    NvmeSanitizeBlock,
    /// Sanitize of NVM Express, with the action Crypto Erase.
    NvmeSanitizeCrypto,
    /// Sanitize of NVM Express, with the action Overwrite.
    NvmeSanitizeOverwrite,
    /// SANITIZE of SCSI, with the service action BLOCK ERASE.
    ScsiSanitizeBlock,
    /// SANITIZE of SCSI, with the service action CRYPTOGRAPHIC ERASE.
    ScsiSanitizeCrypto,
    /// SANITIZE of SCSI, with the service action OVERWRITE.
    ScsiSanitizeOverwrite,
    /// BLOCK ERASE EXT of ATA.
    AtaSanitizeBlock,
    /// CRYPTO SCRAMBLE EXT of ATA.
    AtaSanitizeCrypto,
    /// OVERWRITE EXT of ATA.
    AtaSanitizeOverwrite,
    /// Format NVM of NVM Express, with User Data Erase.
    NvmeFormat,
    /// The kernel's secure discard.
    SecureDiscard,
}

/// The commands in which a drive is asked to sanitize itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandSet {
    /// NVM Express Base Specification.
    Nvme,
    /// SCSI Block Commands (SBC-4).
    Scsi,
    /// ATA Command Set (ACS-4), through SCSI / ATA Translation (SAT-4).
    Ata,
}

/// What a drive does to its medium to sanitize itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It erases every block, as flash does before a block is written again.
    BlockErase,
    /// It replaces the key under which everything on its medium is encrypted.
    CryptoErase,
    /// It writes zeros over its medium, once.
    Overwrite,
}

impl Action {
    /// The name to use in sentences.
    pub fn name(self) -> &'static str {
        match self {
            Action::BlockErase => "block erase",
            Action::CryptoErase => "crypto erase",
            Action::Overwrite => "overwrite",
        }
    }
}

impl Means {
    /// A sanitize operation.
    pub fn sanitizing(by: CommandSet, action: Action) -> Means {
        match (by, action) {
            (CommandSet::Nvme, Action::BlockErase) => Means::NvmeSanitizeBlock,
            (CommandSet::Nvme, Action::CryptoErase) => Means::NvmeSanitizeCrypto,
            (CommandSet::Nvme, Action::Overwrite) => Means::NvmeSanitizeOverwrite,
            (CommandSet::Scsi, Action::BlockErase) => Means::ScsiSanitizeBlock,
            (CommandSet::Scsi, Action::CryptoErase) => Means::ScsiSanitizeCrypto,
            (CommandSet::Scsi, Action::Overwrite) => Means::ScsiSanitizeOverwrite,
            (CommandSet::Ata, Action::BlockErase) => Means::AtaSanitizeBlock,
            (CommandSet::Ata, Action::CryptoErase) => Means::AtaSanitizeCrypto,
            (CommandSet::Ata, Action::Overwrite) => Means::AtaSanitizeOverwrite,
        }
    }

    /// What the drive does to its medium, if this is a sanitize operation.
    pub fn action(self) -> Option<Action> {
        match self {
            Means::NvmeSanitizeBlock | Means::ScsiSanitizeBlock | Means::AtaSanitizeBlock => {
                Some(Action::BlockErase)
            }
            Means::NvmeSanitizeCrypto | Means::ScsiSanitizeCrypto | Means::AtaSanitizeCrypto => {
                Some(Action::CryptoErase)
            }
            Means::NvmeSanitizeOverwrite
            | Means::ScsiSanitizeOverwrite
            | Means::AtaSanitizeOverwrite => Some(Action::Overwrite),
            Means::NvmeFormat | Means::SecureDiscard => None,
        }
    }

    /// Whether it erases every namespace of an NVM subsystem.
    pub fn reaches_all_namespaces(self) -> bool {
        matches!(
            self,
            Means::NvmeSanitizeBlock | Means::NvmeSanitizeCrypto | Means::NvmeSanitizeOverwrite
        )
    }

    /// The name to use in sentences.
    pub fn name(self) -> &'static str {
        match self {
            Means::NvmeSanitizeBlock => "NVMe Sanitize with block erase",
            Means::NvmeSanitizeCrypto => "NVMe Sanitize with crypto erase",
            Means::NvmeSanitizeOverwrite => "NVMe Sanitize with overwrite",
            Means::ScsiSanitizeBlock => "SCSI SANITIZE with block erase",
            Means::ScsiSanitizeCrypto => "SCSI SANITIZE with cryptographic erase",
            Means::ScsiSanitizeOverwrite => "SCSI SANITIZE with overwrite",
            Means::AtaSanitizeBlock => "ATA sanitize with BLOCK ERASE EXT",
            Means::AtaSanitizeCrypto => "ATA sanitize with CRYPTO SCRAMBLE EXT",
            Means::AtaSanitizeOverwrite => "ATA sanitize with OVERWRITE EXT",
            Means::NvmeFormat => "Format NVM with User Data Erase",
            Means::SecureDiscard => "secure discard",
        }
    }
}
