//! The record of a drive's own erase: how it was done, what was sent to the drive and what it answered.

use std::path::PathBuf;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A drive's own erase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Purge {
    /// How the drive erases itself. If it was found at that and does not tell how, this is what was asked for until it
    /// ends, and then a sanitize operation that is not told.
    pub means: EraseMethod,
    /// Whether no real drive had run squall's commands for it when it was asked for: they were tried on emulated drives
    /// only.
    pub untried_on_hardware: bool,
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

/// What a drive told of its own erase before it was overwritten.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "answer", rename_all = "kebab-case")]
pub enum OwnErase {
    /// `squall wipe --purge` has it erase itself.
    Supported {
        means: EraseMethod,
        /// The targets to name: all namespaces of the job that the erase reaches, or the drive alone.
        targets: Vec<PathBuf>,
    },
    /// `squall wipe --purge` would refuse the drive.
    Unsupported { reason: String },
}

/// A sanitize operation, which a drive carries out by itself after it has accepted the command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sanitize {
    /// Whether the operation was already under way when it was first asked about, and not begun by this job.
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
    pub fn asked(means: EraseMethod) -> Purge {
        Purge {
            means,
            untried_on_hardware: true,
            began: None,
            ended: None,
            failure: None,
            with: None,
            sanitize: None,
        }
    }

    /// How the drive erased itself, if it did.
    pub fn done(&self) -> Option<EraseMethod> {
        (self.ended.is_some() && self.failure.is_none()).then_some(self.means)
    }
}

/// How a drive erases itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EraseMethod {
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
    /// SANITIZE of SCSI that was found under way; the drive does not tell the service action.
    ScsiSanitize,
    /// A sanitize operation of ATA that was found under way; the drive does not tell which.
    AtaSanitize,
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

impl EraseMethod {
    /// A sanitize operation.
    pub fn sanitizing(by: CommandSet, action: Action) -> EraseMethod {
        match (by, action) {
            (CommandSet::Nvme, Action::BlockErase) => EraseMethod::NvmeSanitizeBlock,
            (CommandSet::Nvme, Action::CryptoErase) => EraseMethod::NvmeSanitizeCrypto,
            (CommandSet::Nvme, Action::Overwrite) => EraseMethod::NvmeSanitizeOverwrite,
            (CommandSet::Scsi, Action::BlockErase) => EraseMethod::ScsiSanitizeBlock,
            (CommandSet::Scsi, Action::CryptoErase) => EraseMethod::ScsiSanitizeCrypto,
            (CommandSet::Scsi, Action::Overwrite) => EraseMethod::ScsiSanitizeOverwrite,
            (CommandSet::Ata, Action::BlockErase) => EraseMethod::AtaSanitizeBlock,
            (CommandSet::Ata, Action::CryptoErase) => EraseMethod::AtaSanitizeCrypto,
            (CommandSet::Ata, Action::Overwrite) => EraseMethod::AtaSanitizeOverwrite,
        }
    }

    /// What the drive does to its medium, if this is a sanitize operation.
    pub fn action(self) -> Option<Action> {
        match self {
            EraseMethod::NvmeSanitizeBlock
            | EraseMethod::ScsiSanitizeBlock
            | EraseMethod::AtaSanitizeBlock => Some(Action::BlockErase),
            EraseMethod::NvmeSanitizeCrypto
            | EraseMethod::ScsiSanitizeCrypto
            | EraseMethod::AtaSanitizeCrypto => Some(Action::CryptoErase),
            EraseMethod::NvmeSanitizeOverwrite
            | EraseMethod::ScsiSanitizeOverwrite
            | EraseMethod::AtaSanitizeOverwrite => Some(Action::Overwrite),
            EraseMethod::ScsiSanitize
            | EraseMethod::AtaSanitize
            | EraseMethod::NvmeFormat
            | EraseMethod::SecureDiscard => None,
        }
    }

    /// What is known of an operation like this that was found under way: only NVMe drives tell their action.
    pub fn found_under_way(self) -> EraseMethod {
        match self {
            EraseMethod::ScsiSanitizeBlock
            | EraseMethod::ScsiSanitizeCrypto
            | EraseMethod::ScsiSanitizeOverwrite => EraseMethod::ScsiSanitize,
            EraseMethod::AtaSanitizeBlock
            | EraseMethod::AtaSanitizeCrypto
            | EraseMethod::AtaSanitizeOverwrite => EraseMethod::AtaSanitize,
            told => told,
        }
    }

    /// Whether it erases every namespace of an NVM subsystem.
    pub fn reaches_all_namespaces(self) -> bool {
        matches!(
            self,
            EraseMethod::NvmeSanitizeBlock
                | EraseMethod::NvmeSanitizeCrypto
                | EraseMethod::NvmeSanitizeOverwrite
        )
    }

    /// The name to use in sentences.
    pub fn name(self) -> &'static str {
        match self {
            EraseMethod::NvmeSanitizeBlock => "NVMe Sanitize with block erase",
            EraseMethod::NvmeSanitizeCrypto => "NVMe Sanitize with crypto erase",
            EraseMethod::NvmeSanitizeOverwrite => "NVMe Sanitize with overwrite",
            EraseMethod::ScsiSanitizeBlock => "SCSI SANITIZE with block erase",
            EraseMethod::ScsiSanitizeCrypto => "SCSI SANITIZE with cryptographic erase",
            EraseMethod::ScsiSanitizeOverwrite => "SCSI SANITIZE with overwrite",
            EraseMethod::AtaSanitizeBlock => "ATA sanitize with BLOCK ERASE EXT",
            EraseMethod::AtaSanitizeCrypto => "ATA sanitize with CRYPTO SCRAMBLE EXT",
            EraseMethod::AtaSanitizeOverwrite => "ATA sanitize with OVERWRITE EXT",
            EraseMethod::ScsiSanitize => {
                "SCSI SANITIZE with an operation that the drive does not tell"
            }
            EraseMethod::AtaSanitize => {
                "ATA sanitize with an operation that the drive does not tell"
            }
            EraseMethod::NvmeFormat => "Format NVM with User Data Erase",
            EraseMethod::SecureDiscard => "secure discard",
        }
    }
}
