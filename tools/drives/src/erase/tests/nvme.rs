//! A model of an NVMe controller, which accepts nothing but commands that are right in every word.

use std::cell::RefCell;

use crate::commands::nvme::{Admin, Command};

use super::machine::{Doing, Machine, Refusal};
use crate::erase::Action;

pub struct Controller {
    pub machine: RefCell<Machine>,
    /// SANICAP.
    pub capabilities: u32,
    /// OACS.
    pub commands: u16,
    /// CMIC.
    pub multiple: u8,
    /// Namespaces, with the number of blocks in use.
    pub namespaces: Vec<(u32, u64)>,
    /// Estimated seconds of a block erase.
    pub estimate: u32,
}

impl Default for Controller {
    fn default() -> Controller {
        Controller {
            machine: RefCell::default(),
            capabilities: 0b111,
            commands: 1 << 1,
            multiple: 0,
            namespaces: vec![(1, 1000)],
            estimate: u32::MAX,
        }
    }
}

const SUCCESS: u16 = 0;
const INVALID_OPCODE: u16 = 0x01;
const INVALID_FIELD: u16 = 0x02;
const SANITIZE_FAILED: u16 = 0x1c;
const SANITIZE_IN_PROGRESS: u16 = 0x1d;

impl Admin for Controller {
    fn submit(&self, command: &Command, data: &mut [u8]) -> Result<u16, String> {
        Ok(match command.opcode {
            0x02 => self.log(command, data),
            0x06 => self.identify(command, data),
            0x84 => self.sanitize(command, data),
            _ => INVALID_OPCODE,
        })
    }
}

impl Controller {
    fn identify(&self, command: &Command, data: &mut [u8]) -> u16 {
        assert_eq!(data.len(), 4096);
        assert_eq!(command.words[1..], [0; 5]);
        data.fill(0);
        let has_management = self.commands & 1 << 3 != 0;
        match (command.words[0], command.namespace) {
            (0x00, number) | (0x11, number) => {
                assert_eq!(command.words[0] == 0x11, has_management);
                let all = self.namespaces.iter();
                let Some((_, used)) = all.clone().find(|(namespace, _)| *namespace == number)
                else {
                    return 0x0b;
                };
                data[0..8].copy_from_slice(&u64::MAX.to_le_bytes());
                data[16..24].copy_from_slice(&used.to_le_bytes());
            }
            (0x01, 0) => {
                data[76] = self.multiple;
                data[256..258].copy_from_slice(&self.commands.to_le_bytes());
                data[328..332].copy_from_slice(&self.capabilities.to_le_bytes());
            }
            (0x02, 0) | (0x10, 0) => {
                assert_eq!(command.words[0] == 0x10, has_management);
                for (place, (number, _)) in data.chunks_exact_mut(4).zip(&self.namespaces) {
                    place.copy_from_slice(&number.to_le_bytes());
                }
            }
            _ => return INVALID_FIELD,
        }
        SUCCESS
    }

    fn log(&self, command: &Command, data: &mut [u8]) -> u16 {
        // 128 double words of page 0x81, of the subsystem.
        assert_eq!(command.words, [0x007f_0081, 0, 0, 0, 0, 0]);
        assert_eq!((command.namespace, data.len()), (0xffff_ffff, 512));
        let mut machine = self.machine.borrow_mut();
        machine.go_on();
        data.fill(0);
        let status: u16 = match (machine.doing, machine.last) {
            (_, None) => 0,
            (Doing::Processing, _) => 2,
            (Doing::Nothing, _) if machine.succeeded => 1,
            // Whether or not the failure was left.
            _ => 3,
        };
        let progress = match machine.doing {
            Doing::Processing => machine.progress,
            _ => 0xffff,
        };
        let word10 = machine.last.map_or(0, |(action, unrestricted)| {
            code(action) | u32::from(unrestricted) << 3
        });
        data[0..2].copy_from_slice(&progress.to_le_bytes());
        data[2..4].copy_from_slice(&status.to_le_bytes());
        data[4..8].copy_from_slice(&word10.to_le_bytes());
        data[8..32].fill(0xff);
        data[12..16].copy_from_slice(&self.estimate.to_le_bytes());
        SUCCESS
    }

    fn sanitize(&self, command: &Command, data: &[u8]) -> u16 {
        assert!(data.is_empty());
        assert_eq!(command.namespace, 0);
        // No pattern but zeros, and nothing in the other words.
        assert_eq!(command.words[1..], [0; 5]);
        let word = command.words[0];
        let unrestricted = word & 1 << 3 != 0;
        let (action, passes) = match word & 0b111 {
            1 => {
                assert_eq!(word, 1);
                return status(self.machine.borrow_mut().leave_failure());
            }
            2 => (Action::BlockErase, 0),
            3 => (Action::Overwrite, 1),
            4 => (Action::CryptoErase, 0),
            _ => return INVALID_FIELD,
        };
        // No inversion, no No-Deallocate, no media verification.
        assert_eq!(word >> 4, passes, "{word:#x}");
        let has = match action {
            Action::CryptoErase => 1,
            Action::BlockErase => 2,
            Action::Overwrite => 4,
        };
        if self.capabilities & has == 0 {
            return INVALID_FIELD;
        }
        status(self.machine.borrow_mut().begin(action, unrestricted))
    }
}

fn code(action: Action) -> u32 {
    match action {
        Action::BlockErase => 2,
        Action::Overwrite => 3,
        Action::CryptoErase => 4,
    }
}

fn status(result: Result<(), Refusal>) -> u16 {
    match result {
        Ok(()) | Err(Refusal::NoFailure) => SUCCESS,
        Err(Refusal::InProgress) => SANITIZE_IN_PROGRESS,
        Err(Refusal::Restricted) => SANITIZE_FAILED,
        Err(Refusal::Frozen) => unreachable!("NVMe has no such state"),
    }
}
