//! One request to the device mapper (linux/dm-ioctl.h), with all the unsafe code that takes.
//!
//! What goes to the kernel and what comes back may hold keys: it is wiped on both sides.

#![allow(unsafe_code)]

use std::fs::File;
use std::os::fd::AsRawFd;

use bytemuck::{Pod, Zeroable};
use rustix::io::Errno;
use zeroize::Zeroizing;

/// The version of the interface that is spoken: all kernels since Linux 2.6 understand it.
const VERSION: [u32; 3] = [4, 0, 0];

/// Longest name of a device, in bytes, without the end that is 0.
const NAME_LEN: usize = 127;

/// Room for answers, in bytes: a list of all devices of a large machine.
const ROOM: usize = 256 << 10;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Command {
    /// All devices.
    List = 2,
    /// A new device.
    Create = 3,
    /// No such device any more.
    Remove = 4,
    /// The loaded table is the one in use, or waits again.
    Suspend = 6,
    /// What is known of a device.
    Status = 7,
    /// A table that is not yet in use.
    Load = 9,
    /// The version of a kind of target.
    TargetVersion = 17,
}

/// What else is asked for, bits of `flags`.
pub mod flag {
    /// The kernel wipes what it was given.
    pub const SECURE_DATA: u32 = 1 << 15;
    /// If the device is open, it is removed when it no longer is.
    pub const DEFERRED_REMOVE: u32 = 1 << 17;
}

/// `struct dm_ioctl`.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub struct Header {
    version: [u32; 3],
    data_size: u32,
    data_start: u32,
    /// How many targets a table has.
    pub target_count: u32,
    open_count: i32,
    /// Bits of [`flag`].
    pub flags: u32,
    /// What udev's rules are told, in the upper half.
    pub event_nr: u32,
    padding: u32,
    /// The device's number, as the kernel packs it.
    pub dev: u64,
    name: [u8; NAME_LEN + 1],
    uuid: [u8; 129],
    data: [u8; 7],
}

const HEADER_LEN: usize = size_of::<Header>();

const _: () = assert!(HEADER_LEN == 312);

impl Header {
    /// A request for the device `name`.
    pub fn of(name: &str) -> Header {
        let mut header = Header::zeroed();
        header.version = VERSION;
        let len = name.len().min(NAME_LEN);
        header.name[..len].copy_from_slice(&name.as_bytes()[..len]);
        header
    }

    /// The same, which gives the device its name as its UUID too.
    pub fn with_uuid(mut self) -> Header {
        self.uuid[..self.name.len()].copy_from_slice(&self.name);
        self
    }
}

/// What the kernel answers.
pub struct Answer {
    /// The header.
    pub header: Header,
    /// What is behind it.
    pub data: Zeroizing<Vec<u8>>,
}

/// Asks `control` for `command`, with `payload` behind `header`.
pub fn request(
    control: &File,
    command: Command,
    mut header: Header,
    payload: &[u8],
) -> Result<Answer, Errno> {
    let room = match command {
        Command::List => ROOM,
        _ => HEADER_LEN + payload.len().max(512),
    };
    let mut words = Zeroizing::new(vec![0_u64; room.div_ceil(8)]);
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut words);
    header.data_size = bytes.len() as u32;
    header.data_start = HEADER_LEN as u32;
    bytes[..HEADER_LEN].copy_from_slice(bytemuck::bytes_of(&header));
    bytes[HEADER_LEN..HEADER_LEN + payload.len()].copy_from_slice(payload);
    // SAFETY: the request reads and writes a `dm_ioctl` and no more than the `data_size` bytes that
    // it names, from its beginning; `bytes` has so many, aligned to eight bytes, and is borrowed by
    // nobody else until the call returns. The descriptor is open while `control` is borrowed.
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
