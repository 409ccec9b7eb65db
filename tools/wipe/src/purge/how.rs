//! Which of its ways a drive is to erase itself by.

use clap::ValueEnum;

use crate::record::{Action, CommandSet, EraseMethod};

/// How drives are to erase themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EraseChoice {
    /// The first that the drive supports: block, crypto, format, discard, overwrite
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

/// The ways that a drive has, or why it does not have them.
pub struct SupportedErases {
    /// The command set and the actions of a sanitize operation; `None` for what is no drive that could have
    /// one.
    pub sanitize: Option<Result<(CommandSet, Vec<Action>), String>>,
    /// Format NVM or a secure discard.
    pub other: Result<EraseMethod, String>,
}

impl SupportedErases {
    /// The way to take, or why there is none.
    pub fn choose(&self, how: EraseChoice) -> Result<EraseMethod, String> {
        let sanitize = |action| match &self.sanitize {
            Some(Ok((set, actions))) if actions.contains(&action) => {
                Ok(EraseMethod::sanitizing(*set, action))
            }
            Some(Ok((_, actions))) => {
                let names: Vec<_> = actions.iter().map(|action| action.name()).collect();
                Err(format!(
                    "it does not sanitize itself by {}, only by {}",
                    action.name(),
                    names.join(" or ")
                ))
            }
            Some(Err(why)) => Err(why.clone()),
            None => Err("only whole drives on NVMe, SCSI and ATA sanitize themselves".into()),
        };
        match how {
            EraseChoice::Block => sanitize(Action::BlockErase),
            EraseChoice::Crypto => sanitize(Action::CryptoErase),
            EraseChoice::Overwrite => sanitize(Action::Overwrite),
            EraseChoice::Format => self.only(EraseMethod::NvmeFormat, "it has no Format NVM"),
            EraseChoice::Discard => {
                self.only(EraseMethod::SecureDiscard, "it has no secure discard")
            }
            EraseChoice::Auto => sanitize(Action::BlockErase)
                .or_else(|_| sanitize(Action::CryptoErase))
                .or_else(|_| self.other.clone())
                .or_else(|_| sanitize(Action::Overwrite))
                .map_err(|_| self.no_method_reason()),
        }
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
