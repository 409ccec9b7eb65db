//! The record of a drive's own erase: how it was done, what was sent to the drive and what it answered.

use std::path::PathBuf;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use squall_drives::erase::EraseMethod;

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
