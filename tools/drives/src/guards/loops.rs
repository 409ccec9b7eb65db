//! Finds what loop devices stand on: a file or another device.
//!
//! The kernel is asked, since a name may belong to another mount namespace, be gone, or mean
//! another file by now. The name in sysfs is used only where a device cannot be opened.

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
    behind: Behind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Behind {
    File(Inode),
    Device(Number),
}

/// All loop devices whose backing file or device can be found out.
pub(super) fn all() -> Result<Vec<Attached>, Failure> {
    let devices = Device::all().map_err(at(Path::new("/sys/block")))?;
    let attached = |device: Device| {
        let mut name = fs::read(device.join("loop/backing_file")).ok()?;
        name.pop_if(|byte| *byte == b'\n');
        let behind = status::ask(&device)
            .or_else(|_| named(&OsString::from_vec(name)))
            .ok()?;
        Some(Attached { device, behind })
    };
    Ok(devices.into_iter().filter_map(attached).collect())
}

/// The file or device that has this name in this mount namespace.
fn named(name: &OsString) -> io::Result<Behind> {
    let metadata = fs::metadata(name)?;
    Ok(if metadata.file_type().is_block_device() {
        Behind::Device(Number::new(metadata.rdev()))
    } else {
        Behind::File(Inode::of(&metadata))
    })
}

impl Attached {
    /// The backing file, unless that is a device.
    pub fn file(&self) -> Option<Inode> {
        match self.behind {
            Behind::File(inode) => Some(inode),
            Behind::Device(_) => None,
        }
    }

    /// The backing device, unless that is a file.
    pub fn on_device(&self) -> Option<Number> {
        match self.behind {
            Behind::File(_) => None,
            Behind::Device(number) => Some(number),
        }
    }

    /// The backing device, or the one that the backing file is on.
    pub fn ground(&self) -> Number {
        match self.behind {
            Behind::File(inode) => inode.device,
            Behind::Device(number) => number,
        }
    }
}
