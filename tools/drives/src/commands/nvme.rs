//! Admin commands for an NVMe controller (NVM Express Base Specification, revision 2.1, section 5), which go through
//! the node of one of its namespaces: that can be opened exclusively, as the controller's own node cannot.

#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use rustix::ioctl::{Opcode, opcode};
use squall_tool_base::failure::cause;

pub trait Admin {
    /// Sends `command`, whose data is put into `data`. Gives the status, which is 0 for success.
    fn submit(&self, command: &Command, data: &mut [u8]) -> Result<u16, String>;
}

/// A command for the controller, with the words that it uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Command {
    pub opcode: u8,
    pub namespace: u32,
    /// Words 10 to 15.
    pub words: [u32; 6],
    /// Milliseconds; zero is the kernel's usual time.
    pub timeout: u32,
}

/// Sends `command`, and fails unless the drive accepts it.
pub fn accepted(drive: &dyn Admin, command: &Command, data: &mut [u8]) -> Result<(), String> {
    match drive.submit(command, data)? {
        0 => Ok(()),
        status => Err(format!("the drive refused, with {}", status_name(status))),
    }
}

/// Length of what [`log_page`] reads, in bytes.
pub const LOG_PAGE: usize = 512;

/// The first bytes of the log `page`, of the controller or the whole NVM subsystem (section 5.1.12).
pub fn log_page(drive: &dyn Admin, page: u8) -> Result<[u8; LOG_PAGE], String> {
    const GET_LOG_PAGE: u8 = 0x02;
    const ALL_NAMESPACES: u32 = u32::MAX;
    /// Above the page's number: the number of double words, less one.
    const LENGTH: u32 = (LOG_PAGE as u32 / 4 - 1) << 16;
    let mut data = [0; LOG_PAGE];
    let command = Command {
        opcode: GET_LOG_PAGE,
        namespace: ALL_NAMESPACES,
        words: [LENGTH | u32::from(page), 0, 0, 0, 0, 0],
        timeout: 0,
    };
    accepted(drive, &command, &mut data).map(|()| data)
}

/// A status with the name of those that squall meets (section 4.2.3).
pub fn status_name(status: u16) -> String {
    let name = match status {
        0x001 => " (Invalid Command Opcode)",
        0x002 => " (Invalid Field in Command)",
        0x01c => " (Sanitize Failed)",
        0x01d => " (Sanitize In Progress)",
        0x023 => " (Sanitize Prohibited While Persistent Memory Region is Enabled)",
        0x10b | 0x110 | 0x111 => " (a firmware activation waits for a reset)",
        _ => "",
    };
    format!("NVMe status 0x{status:03x}{name}")
}

impl Admin for File {
    fn submit(&self, command: &Command, data: &mut [u8]) -> Result<u16, String> {
        let mut request = Request {
            opcode: command.opcode,
            namespace: command.namespace,
            data: if data.is_empty() {
                0
            } else {
                data.as_mut_ptr() as u64
            },
            data_len: data.len() as u32,
            words: command.words,
            timeout: command.timeout,
            ..Request::default()
        };
        const SUBMIT: Opcode = opcode::read_write::<Request>(b'N', 0x41);
        // SAFETY: the controller and the kernel use only the request and its data, which is all of a
        // slice that outlives this call.
        let status = unsafe { libc::ioctl(self.as_raw_fd(), SUBMIT as _, &raw mut request) };
        answered(status).map(|status| (status & 0x7ff) as u16)
    }
}

/// `struct nvme_passthru_cmd` of linux/nvme_ioctl.h.
#[repr(C)]
#[derive(Default)]
struct Request {
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

const _: () = assert!(size_of::<Request>() == 72);

/// The number of the namespace that is open as `file`.
pub fn number(file: &File) -> Result<u32, String> {
    const ID: Opcode = opcode::none(b'N', 0x40);
    // SAFETY: this request takes no argument.
    let number = unsafe { libc::ioctl(file.as_raw_fd(), ID as _) };
    match answered(number)? {
        number @ 1..=0xffff_fffe => Ok(number),
        _ => Err("the kernel does not report its namespace".into()),
    }
}

fn answered(answer: libc::c_int) -> Result<u32, String> {
    match answer {
        -1 => Err(cause(&io::Error::last_os_error())),
        answer => Ok(answer as u32),
    }
}
