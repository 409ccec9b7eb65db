//! Finds the file or device behind each loop device.
//!
//! The kernel identifies it by numbers. Its name in sysfs is used only if the loop device cannot be
//! opened: a name may belong to another mount namespace, be gone, or mean another file by now.

mod status;

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use squall_tools::Failure;
use squall_tools::failure::at;

use crate::target::Inode;
use crate::target::device::{Device, Number};

#[derive(Debug)]
pub(super) struct Attached {
    pub device: Device,
    backing: Backing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Backing {
    File(Inode),
    Device(Number),
}

/// All loop devices whose backing file or device can be found out.
pub(super) fn all() -> Result<Vec<Attached>, Failure> {
    let devices = Device::all().map_err(at(Path::new("/sys/block")))?;
    let attached = |device: Device| {
        let mut name = fs::read(device.join("loop/backing_file")).ok()?;
        name.pop_if(|byte| *byte == b'\n');
        let backing = status::ask(&device)
            .or_else(|_| named(&OsString::from_vec(name)))
            .ok()?;
        Some(Attached { device, backing })
    };
    Ok(devices.into_iter().filter_map(attached).collect())
}

/// The file or device that has this name in this mount namespace.
fn named(name: &OsString) -> io::Result<Backing> {
    let metadata = fs::metadata(name)?;
    Ok(if metadata.file_type().is_block_device() {
        Backing::Device(Number::new(metadata.rdev()))
    } else {
        Backing::File(Inode::of(&metadata))
    })
}

impl Attached {
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
