//! Admin commands through the kernel (linux/nvme_ioctl.h).

#![allow(unsafe_code)]

use std::ffi::c_void;
use std::fs::File;

use rustix::ioctl::{Ioctl, IoctlOutput, Opcode, opcode};
use squall_tools::failure::cause;

use super::{Admin, Command};

impl Admin for File {
    fn submit(&self, command: &Command, data: &mut [u8]) -> Result<u16, String> {
        let request = Request {
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
        // SAFETY: the controller and the kernel use only the request and its data, which is all of a
        // slice that outlives this call.
        let status = unsafe { rustix::ioctl::ioctl(self, Submit(request)) };
        let status = status.map_err(|error| cause(&error.into()))?;
        Ok((status & 0x7ff) as u16)
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
    // SAFETY: this request takes no argument.
    let number = unsafe { rustix::ioctl::ioctl(file, Id) };
    let number = number.map_err(|error| cause(&error.into()))?;
    match number {
        1..=0xffff_fffe => Ok(number),
        _ => Err("the kernel does not report its namespace".into()),
    }
}

/// NVME_IOCTL_ADMIN_CMD, `_IOWR('N', 0x41, struct nvme_admin_cmd)`; gives a status.
struct Submit(Request);

// SAFETY: the request takes a pointer to this structure, writes its `result` alone, and returns a
// status.
unsafe impl Ioctl for Submit {
    type Output = u32;

    const IS_MUTATING: bool = true;

    fn opcode(&self) -> Opcode {
        opcode::read_write::<Request>(b'N', 0x41)
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
