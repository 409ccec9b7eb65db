//! Finds the file or device behind each loop device.
//!
//! The kernel identifies it by numbers. Its name in sysfs is used only if the loop device cannot be
//! opened: a name may belong to another mount namespace, be gone, or mean another file by now.

#![allow(unsafe_code)]

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use rustix::fs::OFlags;
use rustix::ioctl::{Getter, Opcode, ioctl};
use squall_tool_base::Failure;
use squall_tool_base::failure::at;

use super::backing::Backing;
use crate::target::Inode;
use crate::target::device::{Device, Number};

#[derive(Debug)]
pub(super) struct LoopDevice {
    pub device: Device,
    backing: Backing,
}

/// All loop devices whose backing file or device can be found out.
pub(super) fn all() -> Result<Vec<LoopDevice>, Failure> {
    let devices = Device::all().map_err(at(Path::new("/sys/block")))?;
    let attached = |device: Device| {
        let mut name = fs::read(device.join("loop/backing_file")).ok()?;
        name.pop_if(|byte| *byte == b'\n');
        let backing = ask(&device)
            .or_else(|_| Backing::named(OsString::from_vec(name)))
            .ok()?;
        Some(LoopDevice { device, backing })
    };
    Ok(devices.into_iter().filter_map(attached).collect())
}

impl LoopDevice {
    /// The backing file, unless that is a device.
    pub fn file(&self) -> Option<Inode> {
        match self.backing {
            Backing::File(inode) => Some(inode),
            Backing::Device(_) => None,
        }
    }

    /// The backing device, unless that is a file.
    pub fn on_device(&self) -> Option<Number> {
        match self.backing {
            Backing::File(_) => None,
            Backing::Device(number) => Some(number),
        }
    }

    /// The backing device, or the one that the backing file is on.
    pub fn lower_device(&self) -> Number {
        match self.backing {
            Backing::File(inode) => inode.device,
            Backing::Device(number) => number,
        }
    }
}

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
fn ask(device: &Device) -> io::Result<Backing> {
    let node = device.open(OFlags::empty())?;
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
