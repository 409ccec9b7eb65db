//! Drives on NVM Express: what a controller tells of itself, Format NVM with User Data Erase for one namespace, and
//! Sanitize, which erases every namespace of an NVM subsystem (NVM Express Base Specification, revision 2.1, sections
//! 5.1.12.1.33, 5.1.22 and 8.1.24).

use std::fs::File;
use std::ops::Range;
use std::time::Duration;

use super::sanitize::{
    Action, Actions, Attempt, Exchange, Mode, Sanitizer, State, Status, actions_by_bits,
};
use crate::commands::nvme::{Admin, Command, accepted, log_page, number, status_name};
use crate::io::Buffer;

/// Length of every structure that Identify returns, in bytes.
const IDENTIFIED: usize = 4096;

/// How long a drive may take to erase itself, in milliseconds: a day. Drives need not report their
/// progress (Format Progress), and the kernel's usual time-out would reset the drive in the middle.
const FORMAT_TIMEOUT: u32 = 24 * 3600 * 1000;

mod command {
    pub const IDENTIFY: u8 = 0x06;
    pub const FORMAT_NVM: u8 = 0x80;
    pub const SANITIZE: u8 = 0x84;
}

/// Structures that Identify returns.
mod structure {
    pub const NAMESPACE: u32 = 0x00;
    pub const CONTROLLER: u32 = 0x01;
    pub const ACTIVE_NAMESPACES: u32 = 0x02;
    pub const ALLOCATED_NAMESPACES: u32 = 0x10;
    pub const ALLOCATED_NAMESPACE: u32 = 0x11;
}

/// A namespace that can be formatted without erasing anything else.
#[derive(Debug)]
pub struct Format {
    namespace: u32,
    /// Word 10 of Format NVM.
    pub how: u32,
}

impl Format {
    /// The format of the namespace that is open as `file`, or why it cannot be formatted.
    pub fn from_file(file: &File) -> Result<Format, String> {
        Format::new(file, number(file)?)
    }

    /// The format of `namespace`. Fails if its controller has no Format NVM, or if that could erase more.
    pub fn new(drive: &dyn Admin, namespace: u32) -> Result<Format, String> {
        /// Offset of what formats reach (FNA).
        const FNA: usize = 524;
        let controller = Controller::identify(drive)?;
        if controller.told[OACS] & 1 << 1 == 0 {
            return Err("its controller has no Format NVM".into());
        }
        if controller.told[FNA] & 0b11 != 0 {
            let all = "its controller formats all namespaces at once";
            let numbers = controller.namespaces();
            let numbers = numbers.map_err(|why| format!("{all}, and {why}"))?;
            if numbers != [namespace] {
                return Err(format!(
                    "{all}, and this is not its only one: they are {numbers:?}"
                ));
            }
        }
        let described = identify(drive, structure::NAMESPACE, namespace)?;
        let how = current_format(&described).ok_or("it does not report its format")?;
        Ok(Format { namespace, how })
    }

    /// Formats the namespace, which takes seconds to hours.
    pub fn run(self, file: &File) -> Result<(), String> {
        let command = Command {
            opcode: command::FORMAT_NVM,
            namespace: self.namespace,
            words: [self.how, 0, 0, 0, 0, 0],
            timeout: FORMAT_TIMEOUT,
        };
        accepted(file, &command, &mut [])
    }
}

/// A controller, and the structure that Identify returns for it.
struct Controller<'a> {
    drive: &'a dyn Admin,
    told: Buffer,
}

impl<'a> Controller<'a> {
    fn identify(drive: &'a dyn Admin) -> Result<Controller<'a>, String> {
        let told = identify(drive, structure::CONTROLLER, 0)?;
        Ok(Controller { drive, told })
    }

    /// The numbers of all namespaces in the controller's NVM subsystem.
    fn namespaces(&self) -> Result<Vec<u32>, String> {
        /// Offset of capabilities for several controllers (CMIC).
        const CMIC: usize = 76;
        let has_peers = self.told[CMIC] & 1 << 1 != 0;
        let which = match (self.has_management(), has_peers) {
            (true, _) => structure::ALLOCATED_NAMESPACES,
            (false, false) => structure::ACTIVE_NAMESPACES,
            (false, true) => {
                return Err("its controller does not report those of its peers".into());
            }
        };
        let list = identify(self.drive, which, 0)?;
        let numbers = list.chunks_exact(4);
        let numbers = numbers.map(|number| u32::from_le_bytes(number.try_into().expect("four")));
        let numbers: Vec<u32> = numbers.take_while(|number| *number != 0).collect();
        match numbers.len() {
            len if len == IDENTIFIED / 4 => {
                Err("its controller has more than one list of them".into())
            }
            _ => Ok(numbers),
        }
    }

    fn has_management(&self) -> bool {
        self.told[OACS] & 1 << 3 != 0
    }
}

/// Offset of the optional commands in a controller's structure (OACS).
const OACS: usize = 256;

/// Word 10 of Format NVM: the format that the namespace has now, by the structure that `described`
/// it, with User Data Erase. `None` if there is no such namespace.
fn current_format(described: &[u8]) -> Option<u32> {
    const SIZE: Range<usize> = 0..8;
    const FLBAS: usize = 26;
    const DPS: usize = 29;
    const USER_DATA_ERASE: u32 = 1 << 9;
    if described[SIZE].iter().all(|byte| *byte == 0) {
        return None;
    }
    let [flbas, dps] = [FLBAS, DPS].map(|at| u32::from(described[at]));
    let format = flbas & 0xf | (flbas >> 5 & 0b11) << 12;
    let metadata_in_blocks = (flbas >> 4 & 1) << 4;
    let protection = (dps & 0b111) << 5 | (dps >> 3 & 1) << 8;
    Some(format | metadata_in_blocks | protection | USER_DATA_ERASE)
}

fn identify(drive: &dyn Admin, which: u32, namespace: u32) -> Result<Buffer, String> {
    let mut buffer = Buffer::new(IDENTIFIED);
    let command = Command {
        opcode: command::IDENTIFY,
        namespace,
        words: [which, 0, 0, 0, 0, 0],
        timeout: 0,
    };
    accepted(drive, &command, &mut buffer[..IDENTIFIED]).map(|()| buffer)
}

/// Time for the drive to accept a command, in milliseconds. The operation itself takes longer.
const TIMEOUT: u32 = 5 * 60 * 1000;

/// An NVM subsystem, asked through a controller of it.
pub struct Subsystem<'a> {
    controller: &'a dyn Admin,
    /// The namespaces that may be erased.
    named: Vec<u32>,
}

/// Word 10 of Sanitize.
mod word10 {
    pub const EXIT_FAILURE_MODE: u32 = 1;
    pub const BLOCK_ERASE: u32 = 2;
    pub const OVERWRITE: u32 = 3;
    pub const CRYPTO_ERASE: u32 = 4;
    /// The sanitize action (SANACT).
    pub const ACTION: u32 = 0b111;
    /// Allow Unrestricted Sanitize Exit (AUSE).
    pub const UNRESTRICTED: u32 = 1 << 3;
    /// Overwrite Pass Count (OWPASS); 0 would be 16.
    pub const ONE_PASS: u32 = 1 << 4;
    // No-Deallocate After Sanitize (NDAS) stays zero: the wipe writes every block afterwards anyway.
}

impl<'a> Subsystem<'a> {
    /// The subsystem of a `controller`, in which the namespaces `named` may be erased.
    pub fn new(controller: &'a dyn Admin, named: Vec<u32>) -> Subsystem<'a> {
        Subsystem { controller, named }
    }

    /// Fails if a sanitize operation would erase a namespace that holds something and is not named.
    fn check_namespaces(&self, controller: &Controller) -> Result<(), String> {
        /// How many blocks are in use (NUSE).
        const NUSE: Range<usize> = 16..24;
        let all = "it erases all namespaces of the subsystem";
        let numbers = controller.namespaces();
        let numbers = numbers.map_err(|why| format!("{all}, and {why}"))?;
        let which = match controller.has_management() {
            true => structure::ALLOCATED_NAMESPACE,
            false => structure::NAMESPACE,
        };
        let mut others = Vec::new();
        for number in numbers {
            if self.named.contains(&number) {
                continue;
            }
            let described = identify(self.controller, which, number)?;
            if described[NUSE].iter().any(|byte| *byte != 0) {
                others.push(number.to_string());
            }
        }
        match others.as_slice() {
            [] => Ok(()),
            others => Err(format!(
                "{all}, and these were not named: {}",
                others.join(", ")
            )),
        }
    }

    fn send(&self, word: u32) -> Attempt {
        let command = Command {
            opcode: command::SANITIZE,
            // Word 11 is the pattern of an overwrite: zeros.
            words: [word, 0, 0, 0, 0, 0],
            timeout: TIMEOUT,
            ..Command::default()
        };
        let answered = self.controller.submit(&command, &mut []);
        let result = match &answered {
            Ok(0) => Ok(()),
            Ok(status) => Err(status_name(*status)),
            Err(why) => Err(why.clone()),
        };
        let answer = Exchange {
            sent: format!("Sanitize (opcode 0x84), CDW10 0x{word:08x}, CDW11 0x00000000"),
            answered: match &result {
                Ok(()) => "accepted".into(),
                Err(why) => why.clone(),
            },
        };
        Attempt { answer, result }
    }
}

impl Sanitizer for Subsystem<'_> {
    fn actions(&self) -> Result<Actions, String> {
        /// Offset of the sanitize capabilities (SANICAP), and what their bits mean.
        const SANICAP: usize = 328;
        const BITS: [(u16, Action); 3] = [
            (1 << 1, Action::BlockErase),
            (1 << 0, Action::CryptoErase),
            (1 << 2, Action::Overwrite),
        ];
        let controller = Controller::identify(self.controller)?;
        let actions = actions_by_bits(controller.told[SANICAP].into(), BITS);
        let actions = actions.ok_or("its controller has no Sanitize")?;
        self.check_namespaces(&controller)?;
        Ok(actions)
    }

    fn status(&self) -> Result<Status, String> {
        let log = Log::read(self.controller)?;
        let answer = Exchange {
            sent: format!("Get Log Page (opcode 0x02), page 0x{:02x}", Log::PAGE),
            answered: log.text(),
        };
        Ok(Status {
            state: log.state()?,
            answer,
        })
    }

    fn start(&self, action: Action, mode: Mode) -> Attempt {
        let what = match action {
            Action::BlockErase => word10::BLOCK_ERASE,
            Action::CryptoErase => word10::CRYPTO_ERASE,
            Action::Overwrite => word10::OVERWRITE | word10::ONE_PASS,
        };
        self.send(match mode {
            Mode::Unrestricted => what | word10::UNRESTRICTED,
            Mode::Restricted => what,
        })
    }

    fn leave_failure(&self) -> Attempt {
        self.send(word10::EXIT_FAILURE_MODE)
    }

    fn estimate(&self, action: Action) -> Option<Duration> {
        let [overwrite, block, crypto] = Log::read(self.controller).ok()?.seconds;
        let seconds = match action {
            Action::Overwrite => overwrite,
            Action::BlockErase => block,
            Action::CryptoErase => crypto,
        };
        (seconds != u32::MAX).then(|| Duration::from_secs(seconds.into()))
    }
}

/// The Sanitize Status log.
struct Log {
    /// Sanitize Progress (SPROG).
    progress: u16,
    /// Sanitize Status (SSTAT).
    status: u16,
    /// Word 10 of the last Sanitize command (SCDW10).
    command: u32,
    /// Estimated seconds of an overwrite, a block erase and a crypto erase; all ones say that they are not known.
    seconds: [u32; 3],
}

impl Log {
    const PAGE: u8 = 0x81;

    fn read(controller: &dyn Admin) -> Result<Log, String> {
        let page = log_page(controller, Log::PAGE)?;
        let word = |at: usize| u16::from_le_bytes([page[at], page[at + 1]]);
        let long = |at: usize| u32::from(word(at)) | u32::from(word(at + 2)) << 16;
        Ok(Log {
            progress: word(0),
            status: word(2),
            command: long(4),
            seconds: [8, 12, 16].map(long),
        })
    }

    fn state(&self) -> Result<State, String> {
        let last = match self.command & word10::ACTION {
            word10::BLOCK_ERASE => Some(Action::BlockErase),
            word10::OVERWRITE => Some(Action::Overwrite),
            word10::CRYPTO_ERASE => Some(Action::CryptoErase),
            _ => None,
        };
        let mode = match self.command & word10::UNRESTRICTED {
            0 => Mode::Restricted,
            _ => Mode::Unrestricted,
        };
        match self.status & 0b111 {
            0 => Ok(State::Idle {
                last: None,
                succeeded: Some(false),
            }),
            // 4: it succeeded, and blocks were deallocated against the command's wish.
            1 | 4 => Ok(State::Idle {
                last,
                succeeded: Some(true),
            }),
            2 => Ok(State::Running {
                action: last,
                progress: self.progress,
            }),
            3 => Ok(State::Failed { mode: Some(mode) }),
            _ => Err(format!("it reports {}", self.text())),
        }
    }

    fn text(&self) -> String {
        format!(
            "SPROG 0x{:04x}, SSTAT 0x{:04x}, SCDW10 0x{:08x}",
            self.progress, self.status, self.command
        )
    }
}
