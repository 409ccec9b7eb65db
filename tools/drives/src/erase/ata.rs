//! SANITIZE DEVICE of ATA drives (ACS-4, sections 4.17 and 7.34), in the ATA PASS-THROUGH (16) of the
//! translation that shows them as SCSI drives.

use super::sanitize::{
    Action, Actions, Attempt, Exchange, Mode, Sanitizer, State, Status, actions_by_bits,
};
use super::scsi::{digits, send, vital_product_data};
use crate::commands::ata::{Command, Registers, text as text_of, words};
use crate::commands::scsi::{Data, Scsi};

/// Values of FEATURE in SANITIZE DEVICE.
mod feature {
    pub const STATUS: u16 = 0x0000;
    pub const CRYPTO_SCRAMBLE: u16 = 0x0011;
    pub const BLOCK_ERASE: u16 = 0x0012;
    pub const OVERWRITE: u16 = 0x0014;
}

/// Values of LBA that say that the command is meant: "Cryp" and "BkEr", and for an overwrite "OW" before
/// its pattern, which is zeros.
mod meant {
    pub const CRYPTO_SCRAMBLE: u64 = 0x4372_7970;
    pub const BLOCK_ERASE: u64 = 0x426b_4572;
    pub const OVERWRITE: u64 = 0x4f57 << 32;
}

/// Values of COUNT: the failure state may be cleared by a command (FAILURE MODE), one pass, and clear it
/// now (CLEAR SANITIZE OPERATION FAILED).
mod count {
    pub const UNRESTRICTED: u16 = 1 << 4;
    pub const ONE_PASS: u16 = 1;
    pub const CLEAR_FAILURE: u16 = 1;
}

/// An ATA drive behind a translation.
pub struct Disk<'a>(&'a dyn Scsi);

impl<'a> Disk<'a> {
    /// `drive` as an ATA drive, if a translation says that it is one.
    pub fn behind(drive: &'a dyn Scsi) -> Option<Disk<'a>> {
        const ATA_INFORMATION: u8 = 0x89;
        vital_product_data(drive, ATA_INFORMATION).map(|_| Disk(drive))
    }

    fn identify(&self) -> Result<[u16; 256], String> {
        let mut data = [0; 512];
        let block = Command::IDENTIFY_DEVICE.data_in();
        let reply = send(self.0, &block, Data::In(&mut data))?;
        match reply.is_good() {
            true => Ok(words(&data)),
            false => Err(format!("IDENTIFY DEVICE: {}", reply.text())),
        }
    }

    /// The word of IDENTIFY DEVICE that tells the sanitize operations. Fails if the drive has none.
    fn capabilities(&self) -> Result<u16, String> {
        const WORD: usize = 59;
        const HAS_SANITIZE: u16 = 1 << 12;
        let word = self.identify()?[WORD];
        match word & HAS_SANITIZE {
            0 => Err(NO_SANITIZE.into()),
            _ => Ok(word),
        }
    }

    /// Sends a command of SANITIZE DEVICE, and gives the registers that it returns.
    fn sanitize(
        &self,
        feature: u16,
        count: u16,
        lba: u64,
    ) -> (Exchange, Result<Registers, String>) {
        const SANITIZE_DEVICE: u8 = 0xb4;
        let command = Command {
            code: SANITIZE_DEVICE,
            feature,
            count,
            lba,
            device: Command::LBA,
            is_extended: true,
        };
        let block = command.non_data();
        let name = match (feature, count) {
            (feature::CRYPTO_SCRAMBLE, _) => "CRYPTO SCRAMBLE EXT",
            (feature::BLOCK_ERASE, _) => "BLOCK ERASE EXT",
            (feature::OVERWRITE, _) => "OVERWRITE EXT",
            _ => "SANITIZE STATUS EXT",
        };
        let sent = format!("{name}, CDB {}", digits(&block));
        let reply = send(self.0, &block, Data::None);
        let result = reply.and_then(|reply| match reply.sense {
            Some(sense) => sense.registers.ok_or_else(|| sense.text()),
            None => Err(format!("{}, without the drive's registers", reply.text())),
        });
        let answered = match &result {
            Ok(registers) => text(registers),
            Err(why) => why.clone(),
        };
        (Exchange { sent, answered }, result)
    }

    /// Sends a command that changes something.
    fn send(&self, feature: u16, count: u16, lba: u64) -> Attempt {
        let (answer, registers) = self.sanitize(feature, count, lba);
        let result = registers.and_then(|registers| match reason(&registers) {
            None => Ok(()),
            Some(reason) => Err(reason.into()),
        });
        Attempt { answer, result }
    }
}

/// Why the drive aborted the command; `None` if it did not.
fn reason(registers: &Registers) -> Option<&'static str> {
    registers.is_error().then_some(match registers.lba & 0xff {
        reason::UNSUCCESSFUL => "a sanitize operation was unsuccessful",
        2 => "it does not know this operation",
        reason::FROZEN => "sanitize commands are frozen",
        4 => "its antifreeze lock is set",
        _ => "without a reason",
    })
}

fn text(registers: &Registers) -> String {
    let count = match registers.is_whole {
        true => format!("0x{:04x}", registers.count),
        false => "not passed on".into(),
    };
    format!(
        "STATUS 0x{:02x}, ERROR 0x{:02x}, COUNT {count}, LBA 0x{:04x}",
        registers.status,
        registers.error,
        progress(registers)
    )
}

/// How far an operation is: the lowest 16 bits of LBA.
fn progress(registers: &Registers) -> u16 {
    registers.lba as u16
}

/// Reasons for which a drive aborts a command (SANITIZE DEVICE ERROR REASON).
mod reason {
    pub const NOT_REPORTED: u64 = 0;
    pub const UNSUCCESSFUL: u64 = 1;
    pub const FROZEN: u64 = 3;
}

const NO_SANITIZE: &str = "it has no ATA sanitize";

impl Sanitizer for Disk<'_> {
    fn actions(&self) -> Result<Actions, String> {
        const BITS: [(u16, Action); 3] = [
            (1 << 15, Action::BlockErase),
            (1 << 13, Action::CryptoErase),
            (1 << 14, Action::Overwrite),
        ];
        let actions = actions_by_bits(self.capabilities()?, BITS);
        actions.ok_or_else(|| NO_SANITIZE.into())
    }

    /// An adapter from USB, such as a dock, may have a serial number for all drives.
    fn own_name(&self) -> Result<Option<String>, String> {
        let words = self.identify()?;
        let serial = text_of(&words[10..20]).ok_or("it tells no serial number")?;
        let model = text_of(&words[27..47]).unwrap_or_default();
        Ok(Some(format!("{model} {serial}").trim_start().to_owned()))
    }

    fn status(&self) -> Result<Status, String> {
        const SUCCEEDED: u16 = 1 << 15;
        const RUNNING: u16 = 1 << 14;
        const FROZEN: u16 = 1 << 13;
        let (answer, registers) = self.sanitize(feature::STATUS, 0, 0);
        let registers = registers?;
        if registers.is_error() {
            // A drive that does not know the command aborts it, too.
            self.capabilities()?;
        }
        let state = match (reason(&registers), registers.lba & 0xff) {
            (Some(_), reason::NOT_REPORTED | reason::UNSUCCESSFUL) => State::Failed { mode: None },
            (Some(_), reason::FROZEN) => State::Frozen,
            (Some(why), _) => return Err(why.into()),
            (None, _) if !registers.is_whole => {
                return Err("the adapter passes on only a part of its registers".into());
            }
            (None, _) if registers.count & RUNNING != 0 => State::Running {
                action: None,
                progress: progress(&registers),
            },
            (None, _) if registers.count & FROZEN != 0 => State::Frozen,
            (None, _) => State::Idle {
                last: None,
                succeeded: Some(registers.count & SUCCEEDED != 0),
            },
        };
        Ok(Status { state, answer })
    }

    fn start(&self, action: Action, mode: Mode) -> Attempt {
        let mode = match mode {
            Mode::Unrestricted => count::UNRESTRICTED,
            Mode::Restricted => 0,
        };
        match action {
            Action::BlockErase => self.send(feature::BLOCK_ERASE, mode, meant::BLOCK_ERASE),
            Action::CryptoErase => {
                self.send(feature::CRYPTO_SCRAMBLE, mode, meant::CRYPTO_SCRAMBLE)
            }
            Action::Overwrite => {
                self.send(feature::OVERWRITE, mode | count::ONE_PASS, meant::OVERWRITE)
            }
        }
    }

    fn leave_failure(&self) -> Attempt {
        self.send(feature::STATUS, count::CLEAR_FAILURE, 0)
    }
}
