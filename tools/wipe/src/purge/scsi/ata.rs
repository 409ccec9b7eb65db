//! SANITIZE DEVICE of ATA drives (ACS-4, sections 4.17 and 7.34), in the ATA PASS-THROUGH (16) of the
//! translation that shows them as SCSI drives (SAT-4, section 12.2).

use super::sense::Registers;
use super::{Data, Scsi, digits, send, vital_product_data};
use crate::purge::sanitize::{Answered, Mode, Sanitizer, Sent, State, Status};
use crate::record::Action;

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

/// An ATA command, by its registers.
struct Command {
    feature: u16,
    count: u16,
    lba: u64,
    command: u8,
}

impl<'a> Disk<'a> {
    /// `drive` as an ATA drive, if a translation says that it is one.
    pub fn behind(drive: &'a dyn Scsi) -> Option<Disk<'a>> {
        const ATA_INFORMATION: u8 = 0x89;
        vital_product_data(drive, ATA_INFORMATION).map(|_| Disk(drive))
    }

    /// The words of IDENTIFY DEVICE.
    fn identify(&self) -> Result<Vec<u16>, String> {
        const IDENTIFY_DEVICE: u8 = 0xec;
        const PIO_DATA_IN: u8 = 4 << 1;
        /// The length is in COUNT, in blocks, and the data come from the drive.
        const ONE_BLOCK_IN: u8 = 0b1110;
        let mut data = [0; 512];
        let command = Command {
            feature: 0,
            count: 1,
            lba: 0,
            command: IDENTIFY_DEVICE,
        };
        let block = command.block(PIO_DATA_IN, ONE_BLOCK_IN);
        let reply = send(self.0, &block, Data::In(&mut data))?;
        if !reply.is_good() {
            return Err(format!("IDENTIFY DEVICE: {}", reply.text()));
        }
        let words = data.chunks_exact(2);
        Ok(words
            .map(|word| u16::from_le_bytes([word[0], word[1]]))
            .collect())
    }

    /// Sends a command of SANITIZE DEVICE, and gives the registers that it returns.
    fn sanitize(
        &self,
        feature: u16,
        count: u16,
        lba: u64,
    ) -> (Answered, Result<Registers, String>) {
        const SANITIZE_DEVICE: u8 = 0xb4;
        const EXTENDED: u8 = 1;
        const NO_DATA: u8 = 3 << 1 | EXTENDED;
        /// The registers are to be returned, whatever they are (CK_COND).
        const REGISTERS: u8 = 1 << 5;
        let command = Command {
            feature,
            count,
            lba,
            command: SANITIZE_DEVICE,
        };
        let block = command.block(NO_DATA, REGISTERS);
        let name = match (feature, count) {
            (feature::CRYPTO_SCRAMBLE, _) => "CRYPTO SCRAMBLE EXT",
            (feature::BLOCK_ERASE, _) => "BLOCK ERASE EXT",
            (feature::OVERWRITE, _) => "OVERWRITE EXT",
            _ => "SANITIZE STATUS EXT",
        };
        let sent = format!("{name}, CDB {}", digits(&block));
        let reply = send(self.0, &block, Data::None);
        let (answered, result) = match reply {
            Err(why) => (why.clone(), Err(why)),
            Ok(reply) => match reply.sense {
                Some(sense) => match sense.registers {
                    Some(registers) => (registers.text(), Ok(registers)),
                    None => (sense.text(), Err(sense.text())),
                },
                None => {
                    let why = format!("{}, without the drive's registers", reply.text());
                    (why.clone(), Err(why))
                }
            },
        };
        (Answered { sent, answered }, result)
    }

    /// Sends a command that changes something.
    fn send(&self, feature: u16, count: u16, lba: u64) -> Sent {
        let (answer, registers) = self.sanitize(feature, count, lba);
        let result = registers.and_then(|registers| match registers.reason() {
            None => Ok(()),
            Some(reason) => Err(reason.into()),
        });
        Sent { answer, result }
    }
}

impl Command {
    /// The block of ATA PASS-THROUGH (16) with this protocol and these flags.
    fn block(&self, protocol: u8, flags: u8) -> [u8; 16] {
        const ATA_PASS_THROUGH: u8 = 0x85;
        const LBA: u8 = 1 << 6;
        let [feature_high, feature_low] = self.feature.to_be_bytes();
        let [count_high, count_low] = self.count.to_be_bytes();
        let lba = self.lba.to_le_bytes();
        [
            ATA_PASS_THROUGH,
            protocol,
            flags,
            feature_high,
            feature_low,
            count_high,
            count_low,
            lba[3],
            lba[0],
            lba[4],
            lba[1],
            lba[5],
            lba[2],
            LBA,
            self.command,
            0,
        ]
    }
}

impl Registers {
    /// Why the drive aborted the command; `None` if it did not.
    fn reason(&self) -> Option<&'static str> {
        const ERROR_OR_FAULT: u8 = 1 | 1 << 5;
        if self.status & ERROR_OR_FAULT == 0 {
            return None;
        }
        Some(match self.lba & 0xff {
            reason::UNSUCCESSFUL => "a sanitize operation was unsuccessful",
            2 => "it does not know this operation",
            reason::FROZEN => "sanitize commands are frozen",
            4 => "its antifreeze lock is set",
            _ => "without a reason",
        })
    }

    fn text(&self) -> String {
        let count = match self.count {
            Some(count) => format!("0x{count:04x}"),
            None => "not passed on".into(),
        };
        format!(
            "STATUS 0x{:02x}, ERROR 0x{:02x}, COUNT {count}, LBA 0x{:04x}",
            self.status, self.error, self.lba
        )
    }
}

/// Reasons for which a drive aborts a command (SANITIZE DEVICE ERROR REASON).
mod reason {
    pub const NOT_REPORTED: u16 = 0;
    pub const UNSUCCESSFUL: u16 = 1;
    pub const FROZEN: u16 = 3;
}

impl Sanitizer for Disk<'_> {
    fn actions(&self) -> Result<Vec<Action>, String> {
        const WORD: usize = 59;
        const HAS_SANITIZE: u16 = 1 << 12;
        const BITS: [(u16, Action); 3] = [
            (1 << 15, Action::BlockErase),
            (1 << 13, Action::CryptoErase),
            (1 << 14, Action::Overwrite),
        ];
        let word = self.identify()?[WORD];
        let has = BITS.into_iter().filter(|(bit, _)| word & bit != 0);
        let actions: Vec<_> = has.map(|(_, action)| action).collect();
        match (word & HAS_SANITIZE, actions.is_empty()) {
            (0, _) | (_, true) => Err("it has no ATA sanitize".into()),
            _ => Ok(actions),
        }
    }

    fn status(&self) -> Result<Status, String> {
        const SUCCEEDED: u16 = 1 << 15;
        const RUNNING: u16 = 1 << 14;
        const FROZEN: u16 = 1 << 13;
        let (answer, registers) = self.sanitize(feature::STATUS, 0, 0);
        let registers = registers?;
        let state = match (registers.reason(), registers.lba & 0xff) {
            (Some(_), reason::NOT_REPORTED | reason::UNSUCCESSFUL) => State::Failed { mode: None },
            (Some(_), reason::FROZEN) => State::Frozen,
            (Some(why), _) => return Err(why.into()),
            (None, _) => {
                let count = registers.count;
                let count = count.ok_or("the adapter passes on only a part of its registers")?;
                match count {
                    _ if count & RUNNING != 0 => State::Running {
                        action: None,
                        progress: registers.lba,
                    },
                    _ if count & FROZEN != 0 => State::Frozen,
                    _ => State::Idle {
                        last: None,
                        succeeded: Some(count & SUCCEEDED != 0),
                    },
                }
            }
        };
        Ok(Status { state, answer })
    }

    fn start(&self, action: Action, mode: Mode) -> Sent {
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

    fn leave_failure(&self) -> Sent {
        self.send(feature::STATUS, count::CLEAR_FAILURE, 0)
    }
}
