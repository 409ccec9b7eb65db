//! The ways in which drives erase themselves, and which of them a drive is to take.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use super::sanitize::{Action, Actions, FROZEN, Sanitizer, State, percent};

/// How a drive erases itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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

impl EraseMethod {
    pub fn sanitizing(by: CommandSet, action: Action) -> EraseMethod {
        let mut all = OPERATIONS.iter();
        let found = all.find(|(_, set, its, _)| (*set, *its) == (by, action));
        found.expect("every command set has every action").0
    }

    /// The command set, the action and the name, if this is a sanitize operation whose action is known.
    fn operation(self) -> Option<(CommandSet, Action, &'static str)> {
        let found = OPERATIONS.iter().find(|(method, ..)| *method == self);
        found.map(|(_, set, action, name)| (*set, *action, *name))
    }

    /// What the drive does to its medium, if this is a sanitize operation whose action is known.
    pub fn action(self) -> Option<Action> {
        self.operation().map(|(_, action, _)| action)
    }

    /// What is known of an operation like this that was found under way: only NVMe drives tell their action.
    pub fn found_under_way(self) -> EraseMethod {
        match self.operation() {
            Some((CommandSet::Scsi, ..)) => EraseMethod::ScsiSanitize,
            Some((CommandSet::Ata, ..)) => EraseMethod::AtaSanitize,
            _ => self,
        }
    }

    /// Whether it erases every namespace of an NVM subsystem.
    pub fn reaches_all_namespaces(self) -> bool {
        matches!(self.operation(), Some((CommandSet::Nvme, ..)))
    }

    /// The name to use in sentences.
    pub fn name(self) -> &'static str {
        match self {
            EraseMethod::ScsiSanitize => {
                "SCSI SANITIZE with an operation that the drive does not tell"
            }
            EraseMethod::AtaSanitize => {
                "ATA sanitize with an operation that the drive does not tell"
            }
            EraseMethod::NvmeFormat => "Format NVM with User Data Erase",
            EraseMethod::SecureDiscard => "secure discard",
            _ => self.operation().map_or("", |(.., name)| name),
        }
    }
}

/// The sanitize operations, with the names to use in sentences.
#[rustfmt::skip]
const OPERATIONS: [(EraseMethod, CommandSet, Action, &str); 9] = [
    (EraseMethod::NvmeSanitizeBlock, CommandSet::Nvme, Action::BlockErase, "NVMe Sanitize with block erase"),
    (EraseMethod::NvmeSanitizeCrypto, CommandSet::Nvme, Action::CryptoErase, "NVMe Sanitize with crypto erase"),
    (EraseMethod::NvmeSanitizeOverwrite, CommandSet::Nvme, Action::Overwrite, "NVMe Sanitize with overwrite"),
    (EraseMethod::ScsiSanitizeBlock, CommandSet::Scsi, Action::BlockErase, "SCSI SANITIZE with block erase"),
    (EraseMethod::ScsiSanitizeCrypto, CommandSet::Scsi, Action::CryptoErase, "SCSI SANITIZE with cryptographic erase"),
    (EraseMethod::ScsiSanitizeOverwrite, CommandSet::Scsi, Action::Overwrite, "SCSI SANITIZE with overwrite"),
    (EraseMethod::AtaSanitizeBlock, CommandSet::Ata, Action::BlockErase, "ATA sanitize with BLOCK ERASE EXT"),
    (EraseMethod::AtaSanitizeCrypto, CommandSet::Ata, Action::CryptoErase, "ATA sanitize with CRYPTO SCRAMBLE EXT"),
    (EraseMethod::AtaSanitizeOverwrite, CommandSet::Ata, Action::Overwrite, "ATA sanitize with OVERWRITE EXT"),
];

/// How drives are to erase themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EraseChoice {
    /// The first that the drive supports: block, crypto, format, discard, overwrite; on a magnetic drive block is last
    Auto,
    /// Sanitize: every block is erased
    Block,
    /// Sanitize: the key is replaced under which the drive encrypts everything
    Crypto,
    /// Sanitize: the drive overwrites its whole medium with zeros
    Overwrite,
    /// NVMe's Format NVM, for one namespace alone
    Format,
    /// The kernel's secure discard
    Discard,
}

/// Why most drives cannot erase themselves by a discard.
pub const NO_DISCARD: &str = "it has no secure discard that the kernel knows of";

/// What a drive tells of its sanitize operations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SanitizeSupport {
    pub set: CommandSet,
    pub actions: Actions,
    pub state: State,
}

impl SanitizeSupport {
    /// Asks `drive`. Fails with the reason if it cannot sanitize itself now.
    pub fn new(set: CommandSet, drive: &dyn Sanitizer) -> Result<SanitizeSupport, String> {
        let actions = drive.actions()?;
        match drive.status()?.state {
            State::Frozen => Err(FROZEN.into()),
            state => Ok(SanitizeSupport {
                set,
                actions,
                state,
            }),
        }
    }
}

/// The ways that a drive has to erase itself, or why it does not have them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SupportedErases {
    /// `None` for what is no drive that could have a sanitize operation.
    pub sanitize: Option<Result<SanitizeSupport, String>>,
    /// Format NVM or a secure discard.
    pub other: Result<EraseMethod, String>,
    /// Whether the drive is flash; `None` if the kernel does not know.
    pub flash: Option<bool>,
}

impl SupportedErases {
    /// The way to take, or why there is none.
    pub fn choose(&self, how: EraseChoice) -> Result<EraseMethod, String> {
        match how {
            EraseChoice::Block => self.sanitize(Action::BlockErase),
            EraseChoice::Crypto => self.sanitize(Action::CryptoErase),
            EraseChoice::Overwrite => self.sanitize(Action::Overwrite),
            EraseChoice::Format => self.only(EraseMethod::NvmeFormat, "it has no Format NVM"),
            EraseChoice::Discard => {
                self.only(EraseMethod::SecureDiscard, "it has no secure discard")
            }
            EraseChoice::Auto => {
                let (first, last) = self.preferred();
                let [first, last] =
                    [first, last].map(|all| all.iter().map(|action| self.sanitize(*action)));
                let mut methods = first.chain([self.other.clone()]).chain(last);
                let found = methods.find_map(Result::ok);
                found.ok_or_else(|| self.no_method_reason())
            }
        }
    }

    /// The actions to take before any other way of erasing, and those to take after it, in order.
    fn preferred(&self) -> (&'static [Action], &'static [Action]) {
        use Action::{BlockErase, CryptoErase, Overwrite};
        let are_known = self.sanitizing().is_none_or(|it| it.actions.are_known);
        match (self.flash, are_known) {
            // Block erase is usually for flash memory (NIST SP 800-88 Rev. 1, glossary, SANITIZE command). Magnetic
            // drives overwrite themselves, or replace their key.
            (Some(false), true) => (&[CryptoErase], &[Overwrite, BlockErase]),
            (Some(true), _) | (None, true) => (&[BlockErase, CryptoErase], &[Overwrite]),
            // Most drives do not encrypt.
            (Some(false) | None, false) => (&[Overwrite, CryptoErase], &[BlockErase]),
        }
    }

    fn sanitize(&self, action: Action) -> Result<EraseMethod, String> {
        match &self.sanitize {
            Some(Ok(known)) => {
                let all = self.possible(known);
                if all.contains(&action) {
                    return Ok(EraseMethod::sanitizing(known.set, action));
                }
                let names: Vec<_> = all.iter().map(|action| action.name()).collect();
                Err(format!(
                    "it does not sanitize itself by {}, only by {}",
                    action.name(),
                    names.join(" or ")
                ))
            }
            Some(Err(why)) => Err(why.clone()),
            None => Err("only whole drives on NVMe, SCSI and ATA sanitize themselves".into()),
        }
    }

    /// The actions that the drive tells; or else those that drives of its kind have.
    fn possible(&self, known: &SanitizeSupport) -> Vec<Action> {
        let has = |action: &Action| {
            known.actions.are_known || self.flash != Some(false) || *action != Action::BlockErase
        };
        known.actions.all.iter().copied().filter(has).collect()
    }

    fn sanitizing(&self) -> Option<&SanitizeSupport> {
        self.sanitize.as_ref()?.as_ref().ok()
    }

    /// The way that is known: that of an operation under way, as far as the drive tells; or else the one to take.
    pub fn known(&self, how: EraseChoice) -> Result<EraseMethod, String> {
        let chosen = self.choose(how)?;
        Ok(match self.sanitizing().map(|it| (it.set, it.state)) {
            Some((set, State::Running { action, .. })) => match action {
                Some(action) => EraseMethod::sanitizing(set, action),
                None => chosen.found_under_way(),
            },
            _ => chosen,
        })
    }

    /// How the drive erases itself, in words for a plan, or why it does not.
    pub fn words(&self, how: EraseChoice) -> Result<String, String> {
        let chosen = self.choose(how)?;
        let known = self.known(how)?;
        let sanitizing = self.sanitizing().map(|it| (it.state, it.actions.are_known));
        Ok(match sanitizing {
            Some((State::Running { action, progress }, _)) => {
                // SCSI and ATA drives do not tell what they are at, and are only waited for.
                let then = match action {
                    Some(_) if known != chosen => format!(", then begins {}", chosen.name()),
                    _ => String::new(),
                };
                format!(
                    "under way, at {}: {}; squall waits for its end{then}",
                    percent(progress),
                    known.name()
                )
            }
            Some((_, false)) => format!(
                "perhaps supported: {} (--purge); its last operation failed, and until one succeeds it does not tell \
                 which it has",
                chosen.name()
            ),
            _ => format!("supported: {} (--purge)", chosen.name()),
        })
    }

    fn only(&self, wanted: EraseMethod, without: &str) -> Result<EraseMethod, String> {
        match &self.other {
            Ok(means) if *means == wanted => Ok(wanted),
            Ok(_) => Err(without.into()),
            Err(why) => Err(why.clone()),
        }
    }

    fn no_method_reason(&self) -> String {
        match (&self.sanitize, &self.other) {
            (Some(Err(sanitize)), Err(other)) if other == NO_DISCARD => sanitize.clone(),
            (Some(Err(sanitize)), Err(other)) => format!("{sanitize}; {other}"),
            (_, Err(other)) => other.clone(),
            (_, Ok(_)) => "the drive does not report how".into(),
        }
    }
}
