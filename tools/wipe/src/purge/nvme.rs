//! Format NVM with User Data Erase, for one namespace (NVM Express Base Specification).
//!
//! Commands for the controller go through the namespace's node, which also tells the namespace's
//! number. This node is open exclusively, as the controller's own node never is.

#![allow(unsafe_code)]

use std::ffi::c_void;
use std::fs::File;
use std::ops::Deref;

use rustix::ioctl::{Ioctl, IoctlOutput, Opcode, opcode};
use squall_drives::io::Buffer;
use squall_tools::failure::cause;

/// Length of every structure that Identify returns, in bytes.
const IDENTIFIED: usize = 4096;

/// How long a drive may take to erase itself, in milliseconds: a day. Drives need not report their
/// progress (Format Progress), and the kernel's usual time-out would reset the drive in the middle.
const FORMAT_TIMEOUT: u32 = 24 * 3600 * 1000;

/// Opcodes of commands for the controller.
mod command {
    pub const IDENTIFY: u8 = 0x06;
    pub const FORMAT_NVM: u8 = 0x80;
}

/// Structures that Identify returns.
mod structure {
    pub const NAMESPACE: u32 = 0x00;
    pub const CONTROLLER: u32 = 0x01;
    pub const ACTIVE_NAMESPACES: u32 = 0x02;
    pub const ALLOCATED_NAMESPACES: u32 = 0x10;
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
            ..Command::default()
        };
        submit(file, command)
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
        /// Offsets of fields: capabilities for several controllers (CMIC), optional commands
        /// (OACS), and what formats reach (FNA).
        const CMIC: usize = 76;
        const OACS: usize = 256;
        const FNA: usize = 524;
        let byte = |at: usize| self.0.get(at).copied().unwrap_or(0);
        let has_formats = byte(OACS) & 1 << 1 != 0;
        let has_management = byte(OACS) & 1 << 3 != 0;
        let reaches_all = byte(FNA) & 0b11 != 0;
        let has_peers = byte(CMIC) & 1 << 1 != 0;
        if !has_formats {
            return Err("its controller has no Format NVM".into());
        }
        if !reaches_all {
            return Ok(());
        }
        let all = "its controller formats all namespaces at once";
        let which = match (has_management, has_peers) {
            (true, _) => structure::ALLOCATED_NAMESPACES,
            (false, false) => structure::ACTIVE_NAMESPACES,
            (false, true) => {
                return Err(format!("{all}, and does not report those of its peers"));
            }
        };
        let list = list(which)?;
        let numbers = list.chunks_exact(4);
        let numbers = numbers.map(|number| u32::from_le_bytes(number.try_into().expect("four")));
        let numbers: Vec<u32> = numbers.take_while(|number| *number != 0).collect();
        if numbers == [namespace] {
            Ok(())
        } else {
            Err(format!(
                "{all}, and this is not its only one: they are {numbers:?}"
            ))
        }
    }
}

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

fn identify(file: &File, which: u32, namespace: u32) -> Result<Buffer, String> {
    let mut buffer = Buffer::new(IDENTIFIED);
    let command = Command {
        opcode: command::IDENTIFY,
        namespace,
        data: buffer.as_mut_ptr() as u64,
        data_len: IDENTIFIED as u32,
        words: [which, 0, 0, 0, 0, 0],
        ..Command::default()
    };
    submit(file, command).map(|()| buffer)
}

/// `struct nvme_passthru_cmd` of linux/nvme_ioctl.h. A time-out of zero is the kernel's usual one.
#[repr(C)]
#[derive(Default)]
struct Command {
    opcode: u8,
    flags: u8,
    _reserved: u16,
    namespace: u32,
    words_2_and_3: [u32; 2],
    metadata: u64,
    data: u64,
    metadata_len: u32,
    data_len: u32,
    /// Words 10 to 15.
    words: [u32; 6],
    timeout: u32,
    result: u32,
}

/// Sends `command` to the controller. The command's data, if any, must be a buffer of `data_len` bytes.
fn submit(file: &File, command: Command) -> Result<(), String> {
    // SAFETY: the controller and the kernel use only `command` and its data, which callers make a
    // whole buffer that outlives this call.
    let status = unsafe { rustix::ioctl::ioctl(file, Admin(command)) };
    match status {
        Ok(0) => Ok(()),
        Ok(status) => Err(format!(
            "the drive refused, with NVMe status 0x{:03x}",
            status & 0x7ff
        )),
        Err(error) => Err(cause(&error.into())),
    }
}

/// The number of the namespace that is open as `file`.
fn number(file: &File) -> Result<u32, String> {
    // SAFETY: this request takes no argument.
    let number = unsafe { rustix::ioctl::ioctl(file, Id) };
    let number = number.map_err(|error| cause(&error.into()))?;
    match number {
        1..=0xffff_fffe => Ok(number),
        _ => Err("the kernel does not report its namespace".into()),
    }
}

/// NVME_IOCTL_ADMIN_CMD, `_IOWR('N', 0x41, struct nvme_admin_cmd)`; gives a status.
struct Admin(Command);

// SAFETY: the request takes a pointer to this structure, writes its `result` alone, and returns a
// status.
unsafe impl Ioctl for Admin {
    type Output = u32;

    const IS_MUTATING: bool = true;

    fn opcode(&self) -> Opcode {
        opcode::read_write::<Command>(b'N', 0x41)
    }

    fn as_ptr(&mut self) -> *mut c_void {
        (&raw mut self.0).cast()
    }

    unsafe fn output_from_ptr(status: IoctlOutput, _: *mut c_void) -> rustix::io::Result<u32> {
        Ok(status as u32)
    }
}

/// NVME_IOCTL_ID, `_IO('N', 0x40)`; gives the number of a namespace.
struct Id;

// SAFETY: the request takes nothing, and returns a number.
unsafe impl Ioctl for Id {
    type Output = u32;

    const IS_MUTATING: bool = false;

    fn opcode(&self) -> Opcode {
        opcode::none(b'N', 0x40)
    }

    fn as_ptr(&mut self) -> *mut c_void {
        std::ptr::null_mut()
    }

    unsafe fn output_from_ptr(number: IoctlOutput, _: *mut c_void) -> rustix::io::Result<u32> {
        Ok(number as u32)
    }
}

const _: () = assert!(size_of::<Command>() == 72);
