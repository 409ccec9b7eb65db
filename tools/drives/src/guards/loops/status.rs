//! Asks the kernel for the file or device behind a loop device (LOOP_GET_STATUS64).

#![allow(unsafe_code)]

use std::io;
use std::os::unix::fs::MetadataExt;

use rustix::fs::{Mode, OFlags};
use rustix::ioctl::{Getter, Opcode, ioctl};

use super::Backing;
use crate::target::Inode;
use crate::target::device::{Device, Number};

/// LOOP_GET_STATUS64 of linux/loop.h.
const GET_STATUS: Opcode = 0x4c05;

/// `struct loop_info64` of linux/loop.h: the numbers of the file or device behind a loop device, as in
/// stat(2).
#[repr(C)]
struct Info {
    device: u64,
    inode: u64,
    /// Zero if it is not a device.
    rdevice: u64,
    rest: [u64; 26],
}

const _: () = assert!(size_of::<Info>() == 232);

/// The file or device behind `device`. Fails if its node cannot be opened or belongs to another device, or if
/// nothing is attached.
pub(super) fn ask(device: &Device) -> io::Result<Backing> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let node: std::fs::File = rustix::fs::open(device.path(), flags, Mode::empty())?.into();
    if Number::new(node.metadata()?.rdev()) != device.number {
        return Err(io::Error::other("its node belongs to another device"));
    }
    // SAFETY: the request fills in a `loop_info64`. `Info` has its size and layout, and fields for
    // which every value is valid.
    let info: Info = unsafe { ioctl(&node, Getter::<GET_STATUS, Info>::new()) }?;
    Ok(match info.rdevice {
        0 => Backing::File(Inode {
            device: Number::new(info.device),
            number: info.inode,
        }),
        device => Backing::Device(Number::new(device)),
    })
}
