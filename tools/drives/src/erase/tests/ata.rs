//! A model of an ATA drive behind a translation, which accepts nothing but blocks that are right in every
//! byte.

use std::cell::RefCell;
use std::time::Duration;

use crate::commands::ata::Registers;
use crate::commands::scsi::{Data, Reply, Scsi};
use crate::commands::sense::tests::reply_with;

use super::machine::{Doing, Machine, Refusal};
use crate::erase::Action;

pub struct Disk {
    pub machine: RefCell<Machine>,
    /// Word 59 of IDENTIFY DEVICE.
    pub word59: u16,
    pub antifreeze: bool,
    pub passes_on: PassesOn,
}

/// What the translation passes on of the registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassesOn {
    /// All of them, in a descriptor. After an error, some translations do so in the fixed format.
    All {
        errors_fixed: bool,
    },
    /// Those that fit in the fixed format.
    Some,
    None,
}

impl Default for Disk {
    fn default() -> Disk {
        Disk {
            machine: RefCell::default(),
            word59: 0xf400,
            antifreeze: false,
            passes_on: PassesOn::All {
                errors_fixed: false,
            },
        }
    }
}

/// The registers after a command.
fn registers(status: u8, error: u8, count: u16, lba: u64) -> Registers {
    Registers {
        status,
        error,
        device: 0x40,
        count,
        lba,
        is_whole: true,
    }
}

impl Scsi for Disk {
    fn command(&self, block: &[u8], data: Data<'_>, _: Duration) -> Result<Reply, String> {
        match (block, data) {
            // INQUIRY, of the page for ATA.
            ([0x12, rest @ ..], Data::In(data)) => {
                assert_eq!((rest, data.len()), (&[1, 0x89, 2, 0x3c, 0][..], 0x23c));
                (data[1], data[2], data[3]) = (0x89, 2, 0x38);
                Ok(Reply::default())
            }
            ([0x85, rest @ ..], data) => Ok(self.pass_through(rest.try_into().expect("16"), data)),
            _ => panic!("{block:02x?}"),
        }
    }
}

impl Disk {
    fn pass_through(&self, block: &[u8; 15], data: Data<'_>) -> Reply {
        let [protocol, flags, feature @ .., control] = *block;
        assert_eq!(control, 0);
        let [
            fh,
            fl,
            ch,
            cl,
            lba3,
            lba0,
            lba4,
            lba1,
            lba5,
            lba2,
            device,
            command,
        ] = feature;
        let feature = u16::from_be_bytes([fh, fl]);
        let count = u16::from_be_bytes([ch, cl]);
        let lba = u64::from_le_bytes([lba0, lba1, lba2, lba3, lba4, lba5, 0, 0]);
        assert_eq!(device, 0x40);
        match (command, data) {
            (0xec, Data::In(data)) => {
                // PIO data-in; from the drive, one block, whose number is in COUNT.
                assert_eq!((protocol, flags), (0x08, 0x0e));
                assert_eq!((feature, count, lba, data.len()), (0, 1, 0, 512));
                data.fill(0);
                data[118..120].copy_from_slice(&self.word59.to_le_bytes());
                // Texts have the first of two characters in the high byte.
                data[20..24].copy_from_slice(b"CZA1");
                data[54..58].copy_from_slice(b"TS00");
                Reply::default()
            }
            (0xb4, Data::None) => {
                // Non-data with 48 bits, and the registers are asked for.
                assert_eq!((protocol, flags), (0x07, 0x20));
                self.reply(self.sanitize(feature, count, lba))
            }
            (command, data) => panic!("{command:#x} {data:?}"),
        }
    }

    fn sanitize(&self, feature: u16, count: u16, lba: u64) -> Registers {
        let aborted = |reason: u64| registers(0x51, 0x04, 0, reason);
        let has = |bit: u16| self.word59 & (1 << 12 | bit) == 1 << 12 | bit;
        if !has(0) {
            return aborted(0);
        }
        let mut machine = self.machine.borrow_mut();
        let (bit, action) = match feature {
            0x0000 => {
                assert_eq!((count & !1, lba), (0, 0));
                machine.go_on();
                return match (machine.doing, count & 1, machine.last) {
                    (Doing::Failure, 0, _) => aborted(1),
                    (_, 1, _) => match machine.leave_failure() {
                        Ok(()) => self.normal(&machine),
                        Err(_) => aborted(0),
                    },
                    _ => self.normal(&machine),
                };
            }
            0x0011 => {
                assert_eq!(
                    (count & !0x10, lba),
                    (0, u64::from(u32::from_be_bytes(*b"Cryp")))
                );
                (1 << 13, Action::CryptoErase)
            }
            0x0012 => {
                assert_eq!(
                    (count & !0x10, lba),
                    (0, u64::from(u32::from_be_bytes(*b"BkEr")))
                );
                (1 << 15, Action::BlockErase)
            }
            0x0014 => {
                // One pass of zeros.
                assert_eq!(
                    (count & !0x10, lba),
                    (1, u64::from(u16::from_be_bytes(*b"OW")) << 32)
                );
                (1 << 14, Action::Overwrite)
            }
            feature => panic!("{feature:#x}"),
        };
        if !has(bit) {
            return aborted(2);
        }
        match machine.begin(action, count & 0x10 != 0) {
            Ok(()) => self.normal(&machine),
            Err(Refusal::Frozen) => aborted(3),
            Err(_) => aborted(0),
        }
    }

    /// What a command returns that was not aborted.
    fn normal(&self, machine: &Machine) -> Registers {
        let count = u16::from(machine.succeeded) << 15
            | u16::from(machine.doing == Doing::Processing) << 14
            | u16::from(machine.doing == Doing::Frozen) << 13
            | u16::from(self.antifreeze) << 12;
        let progress = match machine.doing {
            Doing::Processing => machine.progress,
            _ => 0xffff,
        };
        registers(0x50, 0, count, progress.into())
    }

    fn reply(&self, registers: Registers) -> Reply {
        let is_error = registers.is_error();
        match self.passes_on {
            PassesOn::None => Reply::default(),
            PassesOn::Some => reply_with(registers, true),
            PassesOn::All { errors_fixed } => reply_with(registers, errors_fixed && is_error),
        }
    }
}
