//! Asks the kernel what a loop device stands on (LOOP_GET_STATUS64).

#![allow(unsafe_code)]

use std::io;
use std::os::unix::fs::MetadataExt;

use rustix::fs::{Mode, OFlags};
use rustix::ioctl::{Getter, Opcode, ioctl};

use super::Behind;
use crate::target::Inode;
use crate::target::device::{Device, Number};

/// LOOP_GET_STATUS64 of linux/loop.h.
const GET_STATUS: Opcode = 0x4c05;

/// `struct loop_info64` of linux/loop.h: the numbers of what is behind it, as stat(2) gives them.
#[repr(C)]
struct Info {
    device: u64,
    inode: u64,
    /// Zero if it is not a device.
    rdevice: u64,
    rest: [u64; 26],
}

const _: () = assert!(size_of::<Info>() == 232);

/// What `device` stands on. Fails if its node cannot be opened or belongs to another device, or if
/// nothing is attached.
pub(super) fn ask(device: &Device) -> io::Result<Behind> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let node: std::fs::File = rustix::fs::open(device.path(), flags, Mode::empty())?.into();
    if Number::new(node.metadata()?.rdev()) != device.number {
        return Err(io::Error::other("its node belongs to another device"));
    }
    // SAFETY: the request fills in a `loop_info64`. `Info` has its size and layout, and fields for
    // which every value is valid.
    let info: Info = unsafe { ioctl(&node, Getter::<GET_STATUS, Info>::new()) }?;
    Ok(match info.rdevice {
        0 => Behind::File(Inode {
            device: Number::new(info.device),
            number: info.inode,
        }),
        device => Behind::Device(Number::new(device)),
    })
}
