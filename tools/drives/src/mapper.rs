//! Requests to the device mapper (linux/dm-ioctl.h), with all unsafe code that they need.
//!
//! Requests and answers may hold keys, so both the kernel and this program wipe them.

#![allow(unsafe_code)]

use std::fs::File;
use std::os::fd::AsRawFd;

use bytemuck::{Pod, Zeroable};
use rustix::io::{Errno, retry_on_intr};
use zeroize::Zeroizing;

use crate::Number;

/// The control device.
pub const CONTROL: &str = "/dev/mapper/control";

/// The length of `struct dm_target_spec` in bytes: the target's start and length (8 bytes each), a status, the distance
/// to the next target, and the target's type, in 16 bytes.
pub const SPEC_LEN: usize = 40;

/// The interface version of requests, which every kernel since Linux 2.6 understands.
const VERSION: [u32; 3] = [4, 0, 0];

/// The longest device name in bytes, without the final 0.
const NAME_LEN: usize = 127;

/// The size of the buffer for lists, in bytes: enough for all devices of a large machine, and for any table.
const ROOM: usize = 256 << 10;

/// The size of the buffer for a table, in bytes, which is enough for most.
const TABLE_ROOM: usize = 8 << 10;

/// The commands of the interface, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Command {
    List = 2,
    Create = 3,
    Remove = 4,
    /// Suspends a device or, without a flag, resumes it with the loaded table.
    Suspend = 6,
    Status = 7,
    /// Loads a table, which is not yet in use.
    Load = 9,
    /// The targets of a device: their status or, with [`flag::TABLE`], their parameters.
    Table = 12,
    TargetVersion = 17,
}

/// Bits of [`Header::flags`].
pub mod flag {
    /// Asks for the table in use. With some targets, as crypt, that includes keys.
    pub const TABLE: u32 = 1 << 4;
    /// Has targets answer without first writing what they have kept back.
    pub const NO_FLUSH: u32 = 1 << 11;
    /// The answer did not fit, and a part of it is missing.
    pub const CUT_SHORT: u32 = 1 << 8;
    /// Makes the kernel wipe its copy of the request.
    pub const SECURE_DATA: u32 = 1 << 15;
    /// Delays the removal of a device until nobody has it open.
    pub const DEFERRED_REMOVE: u32 = 1 << 17;
}

/// `struct dm_ioctl`.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub struct Header {
    version: [u32; 3],
    data_size: u32,
    data_start: u32,
    pub target_count: u32,
    open_count: i32,
    /// Bits of [`flag`].
    pub flags: u32,
    /// In the upper half, flags for udev's rules.
    pub event_nr: u32,
    padding: u32,
    /// The device number, packed as the kernel does.
    pub dev: u64,
    name: [u8; NAME_LEN + 1],
    uuid: [u8; 129],
    data: [u8; 7],
}

const HEADER_LEN: usize = size_of::<Header>();

const _: () = assert!(HEADER_LEN == 312);

impl Header {
    /// A request for the device `name`.
    pub fn for_device(name: &str) -> Header {
        let mut header = Header::zeroed();
        header.version = VERSION;
        let len = name.len().min(NAME_LEN);
        header.name[..len].copy_from_slice(&name.as_bytes()[..len]);
        header
    }

    /// A request for the device of this number.
    pub fn for_number(number: Number) -> Header {
        let mut header = Header::for_device("");
        header.dev = rustix::fs::makedev(number.major, number.minor);
        header
    }

    /// Sets the device's UUID to its name.
    pub fn with_uuid(mut self) -> Header {
        self.uuid[..self.name.len()].copy_from_slice(&self.name);
        self
    }
}

/// The kernel's answer.
pub struct Answer {
    pub header: Header,
    pub data: Zeroizing<Vec<u8>>,
}

pub fn request(
    control: &File,
    command: Command,
    header: Header,
    payload: &[u8],
) -> Result<Answer, Errno> {
    let room = match command {
        Command::List => ROOM,
        Command::Table => TABLE_ROOM,
        _ => HEADER_LEN + payload.len().max(512),
    };
    // The kernel may have wiped a request that a signal has interrupted, so each attempt makes its own.
    let ask = |room| retry_on_intr(|| request_with(control, command, header, payload, room));
    let answer = ask(room)?;
    match answer.header.flags & flag::CUT_SHORT {
        0 => Ok(answer),
        _ => ask(ROOM),
    }
}

/// The same with a buffer of `room` bytes.
fn request_with(
    control: &File,
    command: Command,
    mut header: Header,
    payload: &[u8],
    room: usize,
) -> Result<Answer, Errno> {
    let mut words = Zeroizing::new(vec![0_u64; room.div_ceil(8)]);
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut words);
    header.data_size = bytes.len() as u32;
    header.data_start = HEADER_LEN as u32;
    bytes[..HEADER_LEN].copy_from_slice(bytemuck::bytes_of(&header));
    bytes[HEADER_LEN..HEADER_LEN + payload.len()].copy_from_slice(payload);
    // SAFETY: the request reads and writes a `dm_ioctl` and at most the `data_size` bytes that it
    // names, from its beginning; `bytes` has that many, aligned to eight bytes, and nobody else
    // borrows it until the call returns. The descriptor is open while `control` is borrowed.
    let answer = unsafe { libc::ioctl(control.as_raw_fd(), code(command), bytes.as_mut_ptr()) };
    if answer < 0 {
        let error = std::io::Error::last_os_error();
        return Err(Errno::from_io_error(&error).unwrap_or(Errno::IO));
    }
    let header: Header = bytemuck::pod_read_unaligned(&bytes[..HEADER_LEN]);
    let end = (header.data_size as usize).clamp(HEADER_LEN, bytes.len());
    let start = (header.data_start as usize).clamp(HEADER_LEN, end);
    Ok(Answer {
        header,
        data: Zeroizing::new(bytes[start..end].to_vec()),
    })
}

/// `_IOWR(0xfd, command, struct dm_ioctl)`.
fn code(command: Command) -> libc::Ioctl {
    rustix::ioctl::opcode::read_write::<Header>(0xfd, command as u8) as libc::Ioctl
}
