//! Drives on NVM Express: what a controller tells of itself, and Format NVM with User Data Erase for one
//! namespace (NVM Express Base Specification).

pub mod sanitize;

use std::fs::File;
use std::ops::Deref;

use squall_drives::commands::nvme::{Admin, Command, accepted, number};
use squall_drives::io::Buffer;

/// Length of every structure that Identify returns, in bytes.
const IDENTIFIED: usize = 4096;

/// How long a drive may take to erase itself, in milliseconds: a day. Drives need not report their
/// progress (Format Progress), and the kernel's usual time-out would reset the drive in the middle.
const FORMAT_TIMEOUT: u32 = 24 * 3600 * 1000;

/// Opcodes of commands for the controller.
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
    how: u32,
}

impl Format {
    /// The format of the namespace that is open as `file`, or why it cannot be formatted.
    pub fn of(file: &File) -> Result<Format, String> {
        let namespace = number(file)?;
        let controller = Controller(identify(file, structure::CONTROLLER, 0)?);
        controller.check_format(|which| identify(file, which, 0), namespace)?;
        let described = identify(file, structure::NAMESPACE, namespace)?;
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

/// The structure that Identify returns for a controller.
pub struct Controller<B>(pub B);

impl<B: Deref<Target = [u8]>> Controller<B> {
    /// Fails if the controller has no Format NVM, or if that could erase more than `namespace`.
    /// `list` asks for a list of namespaces.
    pub fn check_format<L: Deref<Target = [u8]>>(
        &self,
        list: impl FnOnce(u32) -> Result<L, String>,
        namespace: u32,
    ) -> Result<(), String> {
        /// Offset of what formats reach (FNA).
        const FNA: usize = 524;
        let has_formats = self.byte(OACS) & 1 << 1 != 0;
        let reaches_all = self.byte(FNA) & 0b11 != 0;
        if !has_formats {
            return Err("its controller has no Format NVM".into());
        }
        if !reaches_all {
            return Ok(());
        }
        let all = "its controller formats all namespaces at once";
        let numbers = self.namespaces(list);
        let numbers = numbers.map_err(|why| format!("{all}, and {why}"))?;
        if numbers == [namespace] {
            Ok(())
        } else {
            Err(format!(
                "{all}, and this is not its only one: they are {numbers:?}"
            ))
        }
    }

    /// The numbers of all namespaces in the controller's NVM subsystem.
    fn namespaces<L: Deref<Target = [u8]>>(
        &self,
        list: impl FnOnce(u32) -> Result<L, String>,
    ) -> Result<Vec<u32>, String> {
        /// Offset of capabilities for several controllers (CMIC).
        const CMIC: usize = 76;
        let has_peers = self.byte(CMIC) & 1 << 1 != 0;
        let which = match (self.has_management(), has_peers) {
            (true, _) => structure::ALLOCATED_NAMESPACES,
            (false, false) => structure::ACTIVE_NAMESPACES,
            (false, true) => {
                return Err("its controller does not report those of its peers".into());
            }
        };
        let list = list(which)?;
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

    /// Whether it has Namespace Management.
    fn has_management(&self) -> bool {
        self.byte(OACS) & 1 << 3 != 0
    }

    fn byte(&self, at: usize) -> u8 {
        self.0.get(at).copied().unwrap_or(0)
    }
}

/// Offset of the optional commands in a controller's structure (OACS).
const OACS: usize = 256;

/// Word 10 of Format NVM: the format that the namespace has now, by the structure that `described`
/// it, with User Data Erase. `None` if there is no such namespace.
pub fn current_format(described: &[u8]) -> Option<u32> {
    const SIZE: std::ops::Range<usize> = 0..8;
    const FLBAS: usize = 26;
    const DPS: usize = 29;
    const USER_DATA_ERASE: u32 = 1 << 9;
    if described.get(SIZE)?.iter().all(|byte| *byte == 0) {
        return None;
    }
    let (flbas, dps) = (
        u32::from(*described.get(FLBAS)?),
        u32::from(*described.get(DPS)?),
    );
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
