//! Models of drives, for tests. One sanitizes itself: it has the state machine that the three standards describe (NVM
//! Express Base Specification 2.1, figure 649; SBC-4, section 4.11; ACS-4, section 4.17.10), gets further with each
//! question about its progress, and can fail and stall. The other ones answer commands: an NVMe controller and an ATA
//! drive behind a translation, which accept nothing but commands that are right in every byte.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use super::sanitize::{
    ACTIONS, Action, Actions, Attempt, Exchange, Mode, Sanitizer, State, Status,
};
use crate::commands::nvme::{Admin, Command};
use crate::commands::scsi::{Data, Reply, Scsi, model};
use crate::commands::sense::Sense;

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

/// How much a drive tells of its operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tells {
    /// Which it was, how it ended, and how a failure can be left: NVMe. After a failure was left, it tells of that.
    All,
    /// Whether the last one succeeded: ATA.
    Success,
    /// Neither, nor which actions it has while it is at work or has failed: SCSI.
    Nothing,
}

#[derive(Debug)]
pub struct Machine {
    pub doing: Doing,
    /// The last operation, and whether its failure may be left by a command.
    pub last: Option<(Action, Mode)>,
    pub succeeded: bool,
    pub fate: Fate,
    /// How far the operation is, of 65536.
    pub progress: u16,
    /// How far it gets from one question to the next.
    pub step: u16,
    pub begun: Vec<(Action, Mode)>,
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
    /// A drive whose last operation, begun in this mode, has failed.
    pub fn failed(action: Action, mode: Mode) -> Machine {
        Machine {
            doing: Doing::Failure,
            last: Some((action, mode)),
            ..Machine::default()
        }
    }

    pub fn begin(&mut self, action: Action, mode: Mode) -> Result<(), String> {
        match (self.doing, self.last) {
            (Doing::Processing, _) => return Err("one is in progress".into()),
            (Doing::Frozen, _) => return Err("frozen".into()),
            (Doing::Failure, Some((_, Mode::Restricted))) if mode == Mode::Unrestricted => {
                return Err("the failure is restricted".into());
            }
            _ => {}
        }
        self.doing = Doing::Processing;
        self.last = Some((action, mode));
        self.succeeded = false;
        self.progress = 0;
        self.begun.push((action, mode));
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

    fn leave_failure(&mut self) -> Result<(), String> {
        match (self.doing, self.last) {
            (Doing::Processing, _) => return Err("one is in progress".into()),
            (Doing::Failure, Some((_, Mode::Unrestricted))) => self.doing = Doing::Nothing,
            (Doing::Failure, _) => return Err("the failure is restricted".into()),
            _ => {}
        }
        Ok(())
    }

    fn state(&self, tells: Tells) -> State {
        let last = self.last.filter(|_| tells == Tells::All);
        let failed = State::Failed {
            mode: last.map(|(_, mode)| mode),
        };
        match self.doing {
            Doing::Nothing if last.is_some() && !self.succeeded => failed,
            Doing::Nothing => State::Idle {
                last: last.map(|(action, _)| action),
                succeeded: (tells != Tells::Nothing).then_some(self.succeeded),
            },
            Doing::Processing => State::Running {
                action: last.map(|(action, _)| action),
                progress: self.progress,
            },
            Doing::Failure => failed,
            Doing::Frozen => State::Frozen,
        }
    }
}

/// A drive that sanitizes itself.
pub struct Drive {
    pub machine: RefCell<Machine>,
    pub tells: Tells,
    pub actions: Vec<Action>,
    pub estimate: Option<Duration>,
    /// How often it still tells its state.
    pub answers: Cell<u32>,
}

impl Drive {
    pub fn new(tells: Tells) -> Drive {
        Drive {
            machine: RefCell::default(),
            tells,
            actions: ACTIONS.into(),
            estimate: None,
            answers: Cell::new(u32::MAX),
        }
    }
}

/// What is recorded of a command.
fn exchange() -> Exchange {
    Exchange {
        sent: "a command".into(),
        answered: "an answer".into(),
    }
}

impl Sanitizer for Drive {
    fn actions(&self) -> Result<Actions, String> {
        let doing = self.machine.borrow().doing;
        let is_silent = self.tells == Tells::Nothing && doing != Doing::Nothing;
        Ok(Actions {
            all: match is_silent {
                true => ACTIONS.into(),
                false => self.actions.clone(),
            },
            are_known: !is_silent,
        })
    }

    fn status(&self) -> Result<Status, String> {
        let left = self.answers.get().checked_sub(1);
        self.answers.set(left.ok_or("Input/output error")?);
        let mut machine = self.machine.borrow_mut();
        machine.go_on();
        Ok(Status {
            state: machine.state(self.tells),
            answer: exchange(),
        })
    }

    fn start(&self, action: Action, mode: Mode) -> Attempt {
        let result = match self.actions.contains(&action) {
            true => self.machine.borrow_mut().begin(action, mode),
            false => Err("it does not know this".into()),
        };
        Attempt {
            answer: exchange(),
            result,
        }
    }

    fn leave_failure(&self) -> Attempt {
        Attempt {
            answer: exchange(),
            result: self.machine.borrow_mut().leave_failure(),
        }
    }

    fn estimate(&self, _: Action) -> Option<Duration> {
        self.estimate
    }
}

/// An NVMe controller.
pub struct Controller {
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
    /// SPROG, SSTAT and SCDW10 of the Sanitize Status log.
    pub log: (u16, u16, u32),
    /// Words 10 of the Sanitize commands that it got.
    pub sanitized: RefCell<Vec<u32>>,
}

impl Default for Controller {
    fn default() -> Controller {
        Controller {
            capabilities: 0b111,
            commands: 1 << 1,
            multiple: 0,
            formats: 0,
            namespaces: vec![(1, 1000)],
            unattached: Vec::new(),
            is_unlisted: false,
            format: [0; 2],
            log: (0xffff, 0, 0),
            sanitized: RefCell::default(),
        }
    }
}

impl Controller {
    const SUCCESS: u16 = 0;
    const INVALID_OPCODE: u16 = 0x01;
    const INVALID_FIELD: u16 = 0x02;
    const INVALID_NAMESPACE: u16 = 0x0b;

    /// Estimated seconds of a block erase.
    pub const SECONDS: u32 = 36_000;

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
                let numbers = self.namespaces.iter().map(|(number, _)| number);
                let listed = numbers.filter(|number| is_listed(number));
                for (place, number) in data.chunks_exact_mut(4).zip(listed) {
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
        let (progress, status, word) = self.log;
        data.fill(0);
        data[0..2].copy_from_slice(&progress.to_le_bytes());
        data[2..4].copy_from_slice(&status.to_le_bytes());
        data[4..8].copy_from_slice(&word.to_le_bytes());
        data[8..32].fill(0xff);
        data[12..16].copy_from_slice(&Controller::SECONDS.to_le_bytes());
        Controller::SUCCESS
    }

    fn sanitize(&self, command: &Command, data: &[u8]) -> u16 {
        // No pattern but zeros, and nothing in the other words.
        assert_eq!((command.namespace, data.len()), (0, 0));
        assert_eq!(command.words[1..], [0; 5]);
        self.sanitized.borrow_mut().push(command.words[0]);
        Controller::SUCCESS
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

/// An ATA drive behind a translation, with this word 59 of IDENTIFY DEVICE. It replies to other commands with `reply`.
pub fn ata(word59: u16, reply: impl Fn(&[u8]) -> Reply) -> impl Scsi {
    model(move |block, data| match (block, data) {
        // INQUIRY, of the page for ATA.
        ([0x12, rest @ ..], Data::In(data)) => {
            assert_eq!((rest, data.len()), (&[1, 0x89, 2, 0x3c, 0][..], 0x23c));
            data[1] = 0x89;
            Reply::default()
        }
        ([0x85, .., 0xec, 0], Data::In(data)) => {
            data[118..120].copy_from_slice(&word59.to_le_bytes());
            // Texts have the first of two characters in the high byte.
            data[20..24].copy_from_slice(b"CZA1");
            data[54..58].copy_from_slice(b"TS00");
            Reply::default()
        }
        ([0x85, .., 0xb4, 0], Data::None) => reply(block),
        (block, data) => panic!("{block:02x?} {data:?}"),
    })
}

/// The refusal of a SCSI drive with this sense key, and this code with its qualifier.
pub fn refusal(key: u8, code: u8, qualifier: u8) -> Reply {
    Reply {
        status: Reply::CHECK_CONDITION,
        sense: Sense::read(&[0x72, key, code, qualifier, 0, 0, 0, 0]),
        ..Reply::default()
    }
}
