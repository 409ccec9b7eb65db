//! Models of drives behind the commands, for tests: an NVMe controller, a SCSI drive, and an ATA drive behind a
//! translation. They accept nothing but commands that are right in every byte, and share the state machine of sanitize
//! operations that the three standards describe (NVM Express Base Specification 2.1, figure 649; SBC-4, section 4.11;
//! ACS-4, section 4.17.10). It gets further with each question about its progress, and can fail and stall.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use super::Action;
use crate::commands::ata::Registers;
use crate::commands::nvme::{Admin, Command};
use crate::commands::scsi::{Data, Reply, Scsi};
use crate::commands::sense::Sense;
use crate::commands::sense::tests::reply_with;

/// What the drive is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    Nothing,
    Processing,
    Failure,
    /// Until the drive loses its power.
    Frozen,
}

/// What becomes of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Succeeds,
    Fails,
    /// It stays at the same place.
    Stalls,
}

/// Why a command is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    InProgress,
    /// In a restricted failure, only a restricted operation may begin.
    Restricted,
    Frozen,
    /// There is no failure to leave.
    NoFailure,
}

#[derive(Debug)]
pub struct Machine {
    pub doing: Doing,
    /// The last operation, and whether its failure may be left by a command.
    pub last: Option<(Action, bool)>,
    pub succeeded: bool,
    pub fate: Fate,
    /// How far the operation is, of 65536.
    pub progress: u16,
    /// How far it gets from one question to the next.
    pub step: u16,
    /// Operations that were begun.
    pub begun: Vec<(Action, bool)>,
}

impl Default for Machine {
    fn default() -> Machine {
        Machine {
            doing: Doing::Nothing,
            last: None,
            succeeded: false,
            fate: Fate::Succeeds,
            progress: 0xffff,
            step: 0x4000,
            begun: Vec::new(),
        }
    }
}

impl Machine {
    /// Begins an operation.
    pub fn begin(&mut self, action: Action, unrestricted: bool) -> Result<(), Refusal> {
        match (self.doing, self.last) {
            (Doing::Processing, _) => return Err(Refusal::InProgress),
            (Doing::Frozen, _) => return Err(Refusal::Frozen),
            (Doing::Failure, Some((_, false))) if unrestricted => return Err(Refusal::Restricted),
            _ => {}
        }
        self.doing = Doing::Processing;
        self.last = Some((action, unrestricted));
        self.succeeded = false;
        self.progress = 0;
        self.begun.push((action, unrestricted));
        Ok(())
    }

    /// Time passes, between two questions.
    pub fn go_on(&mut self) {
        if self.doing != Doing::Processing || self.fate == Fate::Stalls {
            return;
        }
        match self.progress.checked_add(self.step) {
            Some(progress) => self.progress = progress,
            None => {
                self.succeeded = self.fate == Fate::Succeeds;
                self.doing = match self.fate {
                    Fate::Succeeds => Doing::Nothing,
                    _ => Doing::Failure,
                };
            }
        }
    }

    /// Leaves the failure state.
    pub fn leave_failure(&mut self) -> Result<(), Refusal> {
        match (self.doing, self.last) {
            (Doing::Processing, _) => Err(Refusal::InProgress),
            (Doing::Failure, Some((_, true))) => {
                self.doing = Doing::Nothing;
                Ok(())
            }
            (Doing::Failure, _) => Err(Refusal::Restricted),
            _ => Err(Refusal::NoFailure),
        }
    }
}

/// An NVMe controller.
pub struct Controller {
    pub machine: RefCell<Machine>,
    /// SANICAP.
    pub capabilities: u32,
    /// OACS.
    pub commands: u8,
    /// CMIC.
    pub multiple: u8,
    /// FNA.
    pub formats: u8,
    /// Namespaces, with the number of blocks in use.
    pub namespaces: Vec<(u32, u64)>,
    /// Those of them that are attached to no controller.
    pub unattached: Vec<u32>,
    /// Whether it refuses to list them.
    pub is_unlisted: bool,
    /// FLBAS and DPS of the namespaces.
    pub format: [u8; 2],
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
            formats: 0,
            namespaces: vec![(1, 1000)],
            unattached: Vec::new(),
            is_unlisted: false,
            format: [0; 2],
            estimate: u32::MAX,
        }
    }
}

impl Controller {
    const SUCCESS: u16 = 0;
    const INVALID_OPCODE: u16 = 0x01;
    const INVALID_FIELD: u16 = 0x02;
    const INVALID_NAMESPACE: u16 = 0x0b;
    const SANITIZE_FAILED: u16 = 0x1c;
    const SANITIZE_IN_PROGRESS: u16 = 0x1d;

    fn identify(&self, command: &Command, data: &mut [u8]) -> u16 {
        assert_eq!((data.len(), &command.words[1..]), (4096, &[0; 5][..]));
        data.fill(0);
        let has_management = self.commands & 1 << 3 != 0;
        match (command.words[0], command.namespace) {
            (which @ (0x00 | 0x11), number) => {
                assert!(which == 0x00 || has_management);
                let mut all = self.namespaces.iter();
                let Some((_, used)) = all.find(|(namespace, _)| *namespace == number) else {
                    return Controller::INVALID_NAMESPACE;
                };
                // It tells nothing of one that is not attached, unless all that are allocated are meant.
                if which == 0x00 && self.unattached.contains(&number) {
                    return Controller::SUCCESS;
                }
                data[0..8].copy_from_slice(&u64::MAX.to_le_bytes());
                data[16..24].copy_from_slice(&used.to_le_bytes());
                [data[26], data[29]] = self.format;
            }
            (0x01, 0) => {
                (data[76], data[256], data[524]) = (self.multiple, self.commands, self.formats);
                data[328..332].copy_from_slice(&self.capabilities.to_le_bytes());
            }
            // Active namespaces, or all that are allocated.
            (0x02 | 0x10, 0) if self.is_unlisted => return Controller::INVALID_FIELD,
            (which @ (0x02 | 0x10), 0) => {
                assert_eq!(which == 0x10, has_management);
                let is_listed = |number| which == 0x10 || !self.unattached.contains(number);
                let listed = self
                    .namespaces
                    .iter()
                    .filter(|(number, _)| is_listed(number));
                for (place, (number, _)) in data.chunks_exact_mut(4).zip(listed) {
                    place.copy_from_slice(&number.to_le_bytes());
                }
            }
            _ => return Controller::INVALID_FIELD,
        }
        Controller::SUCCESS
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
        let code = |action| match action {
            Action::BlockErase => 2,
            Action::Overwrite => 3,
            Action::CryptoErase => 4,
        };
        let word10 = machine.last.map_or(0, |(action, unrestricted)| {
            code(action) | u32::from(unrestricted) << 3
        });
        data[0..2].copy_from_slice(&progress.to_le_bytes());
        data[2..4].copy_from_slice(&status.to_le_bytes());
        data[4..8].copy_from_slice(&word10.to_le_bytes());
        data[8..32].fill(0xff);
        data[12..16].copy_from_slice(&self.estimate.to_le_bytes());
        Controller::SUCCESS
    }

    fn sanitize(&self, command: &Command, data: &[u8]) -> u16 {
        assert!(data.is_empty());
        assert_eq!(command.namespace, 0);
        // No pattern but zeros, and nothing in the other words.
        assert_eq!(command.words[1..], [0; 5]);
        let word = command.words[0];
        let mut machine = self.machine.borrow_mut();
        let (action, bit, passes) = match word & 0b111 {
            1 => {
                assert_eq!(word, 1);
                return Controller::status(machine.leave_failure());
            }
            2 => (Action::BlockErase, 2, 0),
            3 => (Action::Overwrite, 4, 1),
            4 => (Action::CryptoErase, 1, 0),
            _ => return Controller::INVALID_FIELD,
        };
        // No inversion, no No-Deallocate, no media verification.
        assert_eq!(word >> 4, passes, "{word:#x}");
        if self.capabilities & bit == 0 {
            return Controller::INVALID_FIELD;
        }
        Controller::status(machine.begin(action, word & 1 << 3 != 0))
    }

    fn status(result: Result<(), Refusal>) -> u16 {
        match result {
            Ok(()) | Err(Refusal::NoFailure) => Controller::SUCCESS,
            Err(Refusal::InProgress) => Controller::SANITIZE_IN_PROGRESS,
            Err(Refusal::Restricted) => Controller::SANITIZE_FAILED,
            Err(Refusal::Frozen) => unreachable!("NVMe has no such state"),
        }
    }
}

impl Admin for Controller {
    fn submit(&self, command: &Command, data: &mut [u8]) -> Result<u16, String> {
        Ok(match command.opcode {
            0x02 => self.log(command, data),
            0x06 => self.identify(command, data),
            0x84 => self.sanitize(command, data),
            _ => Controller::INVALID_OPCODE,
        })
    }
}

/// A SCSI drive.
pub struct Drive {
    pub machine: RefCell<Machine>,
    /// Service actions of SANITIZE that it has.
    pub services: Vec<u8>,
    /// Which logical units SANITIZE affects (MLU); 0 is "not reported".
    pub units: u8,
    /// Whether its sense data have descriptors.
    pub descriptors: bool,
    /// Whether it tells its progress only to TEST UNIT READY.
    pub is_quiet: bool,
    /// How often it has something else to tell before it carries out a command.
    pub attentions: Cell<u32>,
}

impl Default for Drive {
    fn default() -> Drive {
        Drive {
            machine: RefCell::default(),
            services: vec![1, 2, 3],
            units: 0,
            descriptors: false,
            is_quiet: false,
            attentions: Cell::new(0),
        }
    }
}

/// A sense key, and a code with its qualifier.
type Code = (u8, u8, u8);

impl Drive {
    const IN_PROGRESS: Code = (2, 0x04, 0x1b);
    const FAILED: Code = (3, 0x31, 0x03);
    const INVALID_OPCODE: Code = (5, 0x20, 0);
    const INVALID_FIELD: Code = (5, 0x24, 0);

    /// What the drive is at or in, which refuses other commands.
    fn trouble(&self) -> Option<Code> {
        match self.machine.borrow().doing {
            Doing::Processing => Some(Drive::IN_PROGRESS),
            Doing::Failure => Some(Drive::FAILED),
            _ => None,
        }
    }

    fn supports(&self, rest: &[u8], data: &mut [u8]) -> Reply {
        // One command, with its service action, and 64 bytes of answer.
        let [0x0c, 0b010, 0x48, 0, service, 0, 0, 0, 64, 0, 0] = *rest else {
            panic!("{rest:02x?}");
        };
        assert_eq!(data.len(), 64);
        if let Some(code) = self.trouble() {
            return self.check(code);
        }
        let support = match self.services.contains(&service) {
            true => 3,
            false => 1,
        };
        data[1] = self.units << 5 | support;
        data[3] = 10;
        Reply::default()
    }

    fn sanitize(&self, rest: &[u8], data: Data<'_>) -> Reply {
        let [flags, 0, 0, 0, 0, 0, high, low, 0] = *rest else {
            panic!("{rest:02x?}");
        };
        let parameters = match data {
            Data::None => &[][..],
            Data::Out(bytes) => bytes,
            Data::In(_) => panic!("nothing comes from the drive"),
        };
        assert_eq!(parameters.len(), usize::from(high) << 8 | usize::from(low));
        let service = flags & 0x1f;
        let action = match service {
            1 => Action::Overwrite,
            2 => Action::BlockErase,
            _ => Action::CryptoErase,
        };
        let result = match service {
            0x1f => {
                assert_eq!((flags, parameters), (0x1f, &[][..]));
                self.machine.borrow_mut().leave_failure()
            }
            _ if !self.services.contains(&service) => return self.check(Drive::INVALID_FIELD),
            _ => {
                // At once, and no zone is kept as it is.
                assert_eq!(flags & 0xc0, 0x80);
                // One pass, not inverted, with a pattern of as many zeros as it says.
                let zeros: &[u8] = match action {
                    Action::Overwrite => &[1, 0, 0, 4, 0, 0, 0, 0],
                    _ => &[],
                };
                assert_eq!(parameters, zeros);
                let unrestricted = flags & 0x20 != 0;
                self.machine.borrow_mut().begin(action, unrestricted)
            }
        };
        match result {
            Ok(()) | Err(Refusal::NoFailure) => Reply::default(),
            Err(Refusal::InProgress) => self.check(Drive::IN_PROGRESS),
            Err(_) => self.check(Drive::INVALID_FIELD),
        }
    }

    fn check(&self, code: Code) -> Reply {
        Reply {
            status: Reply::CHECK_CONDITION,
            sense: Sense::read(&self.sense(code)),
            ..Reply::default()
        }
    }

    /// Sense data in one of the two formats. They have a progress if an operation is in progress.
    fn sense(&self, (key, code, qualifier): Code) -> Vec<u8> {
        let is_at_work = (key, code, qualifier) == Drive::IN_PROGRESS;
        let [high, low] = self.machine.borrow().progress.to_be_bytes();
        if self.descriptors {
            let mut sense = vec![0x72, key, code, qualifier, 0, 0, 0, 0];
            // A descriptor that nobody asked for: Information.
            sense.extend([0x00, 0x0a, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 7]);
            if is_at_work {
                sense.extend([0x02, 0x06, 0, 0, 0x80, high, low, 0]);
            }
            sense[7] = (sense.len() - 8) as u8;
            return sense;
        }
        let mut sense = vec![0; 18];
        (sense[0], sense[2], sense[7]) = (0x70, key, 10);
        (sense[12], sense[13]) = (code, qualifier);
        if is_at_work {
            sense[15..].copy_from_slice(&[0x80, high, low]);
        }
        sense
    }
}

impl Scsi for Drive {
    fn command(&self, block: &[u8], data: Data<'_>, _: Duration) -> Result<Reply, String> {
        let attentions = self.attentions.get();
        if attentions > 0 {
            self.attentions.set(attentions - 1);
            return Ok(self.check((6, 0x29, 0)));
        }
        Ok(match (block, data) {
            ([0x00, rest @ ..], Data::None) => {
                assert_eq!(rest, [0; 5]);
                self.machine.borrow_mut().go_on();
                let trouble = self.trouble();
                trouble.map_or_else(Reply::default, |code| self.check(code))
            }
            ([0x03, rest @ ..], Data::In(data)) => {
                assert_eq!((rest, data.len()), (&[0, 0, 0, 252, 0][..], 252));
                let told = match self.is_quiet {
                    true => None,
                    false => {
                        self.machine.borrow_mut().go_on();
                        self.trouble()
                    }
                };
                let sense = self.sense(told.unwrap_or_default());
                data[..sense.len()].copy_from_slice(&sense);
                Reply::default()
            }
            ([0x48, rest @ ..], data) => self.sanitize(rest, data),
            ([0xa3, rest @ ..], Data::In(data)) => self.supports(rest, data),
            _ => self.check(Drive::INVALID_OPCODE),
        })
    }
}

/// An ATA drive behind a translation.
pub struct Disk {
    pub machine: RefCell<Machine>,
    /// Word 59 of IDENTIFY DEVICE.
    pub word59: u16,
    /// Whether its commands cannot be frozen.
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

impl Disk {
    fn pass_through(&self, block: &[u8; 15], data: Data<'_>) -> Reply {
        let [protocol, flags, fh, fl, ch, cl, lba @ .., 0x40, command, 0] = *block else {
            panic!("{block:02x?}");
        };
        let [lba3, lba0, lba4, lba1, lba5, lba2] = lba;
        let feature = u16::from_be_bytes([fh, fl]);
        let count = u16::from_be_bytes([ch, cl]);
        let lba = u64::from_le_bytes([lba0, lba1, lba2, lba3, lba4, lba5, 0, 0]);
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
                let registers = self.sanitize(feature, count, lba);
                match self.passes_on {
                    PassesOn::None => Reply::default(),
                    PassesOn::Some => reply_with(registers, true),
                    PassesOn::All { errors_fixed } => {
                        reply_with(registers, errors_fixed && registers.is_error())
                    }
                }
            }
            (command, data) => panic!("{command:#x} {data:?}"),
        }
    }

    fn sanitize(&self, feature: u16, count: u16, lba: u64) -> Registers {
        let has = |bit: u16| self.word59 & (1 << 12 | bit) == 1 << 12 | bit;
        let mut machine = self.machine.borrow_mut();
        // What says that a command is meant. An overwrite is one pass of zeros.
        let (bit, action, meant) = match feature {
            _ if !has(0) => return Disk::aborted(0),
            0x0000 => {
                assert_eq!((count & !1, lba), (0, 0));
                machine.go_on();
                let left = match (machine.doing, count) {
                    (Doing::Failure, 0) => return Disk::aborted(1),
                    (_, 0) => Ok(()),
                    _ => machine.leave_failure(),
                };
                return match left {
                    Ok(()) => self.normal(&machine),
                    Err(_) => Disk::aborted(0),
                };
            }
            0x0011 => (1 << 13, Action::CryptoErase, (0, *b"\0\0Cryp")),
            0x0012 => (1 << 15, Action::BlockErase, (0, *b"\0\0BkEr")),
            0x0014 => (1 << 14, Action::Overwrite, (1, *b"OW\0\0\0\0")),
            feature => panic!("{feature:#x}"),
        };
        let [.., a, b, c, d, e, f] = lba.to_be_bytes();
        assert_eq!((count & !0x10, [a, b, c, d, e, f]), meant);
        if !has(bit) {
            return Disk::aborted(2);
        }
        match machine.begin(action, count & 0x10 != 0) {
            Ok(()) => self.normal(&machine),
            Err(Refusal::Frozen) => Disk::aborted(3),
            Err(_) => Disk::aborted(0),
        }
    }

    /// The registers after a command that was aborted for this reason.
    fn aborted(reason: u64) -> Registers {
        Registers {
            status: 0x51,
            error: 0x04,
            lba: reason,
            ..Registers::default()
        }
    }

    /// Those after a command that was not.
    fn normal(&self, machine: &Machine) -> Registers {
        let count = u16::from(machine.succeeded) << 15
            | u16::from(machine.doing == Doing::Processing) << 14
            | u16::from(machine.doing == Doing::Frozen) << 13
            | u16::from(self.antifreeze) << 12;
        let progress = match machine.doing {
            Doing::Processing => machine.progress,
            _ => 0xffff,
        };
        Registers {
            status: 0x50,
            count,
            lba: progress.into(),
            ..Registers::default()
        }
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
