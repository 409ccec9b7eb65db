//! What loop devices stand on: a file or another device, by sysfs.

use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use squall_command::Failure;
use squall_command::failure::at;

use crate::target::Inode;
use crate::target::device::{Device, Number};

/// An attached loop device.
#[derive(Debug)]
pub(super) struct Attached {
    /// It.
    pub device: Device,
    behind: Metadata,
}

/// All whose files have a name here.
pub(super) fn all() -> Result<Vec<Attached>, Failure> {
    let devices = Device::all().map_err(at(Path::new("/sys/block")))?;
    let attached = |device: Device| {
        let mut name = fs::read(device.join("loop/backing_file")).ok()?;
        name.pop_if(|byte| *byte == b'\n');
        let behind = fs::metadata(OsString::from_vec(name)).ok()?;
        Some(Attached { device, behind })
    };
    Ok(devices.into_iter().filter_map(attached).collect())
}

impl Attached {
    /// Whether it stands on this file.
    pub fn is_on_file(&self, inode: Inode) -> bool {
        Inode::of(&self.behind) == inode
    }

    /// Whether it stands on this very device, and not on a file there.
    pub fn is_on_device(&self, number: Number) -> bool {
        self.behind.file_type().is_block_device() && Number::new(self.behind.rdev()) == number
    }

    /// The device that it stands on, perhaps by a file there.
    pub fn ground(&self) -> Number {
        Number::new(match self.behind.file_type().is_block_device() {
            true => self.behind.rdev(),
            false => self.behind.dev(),
        })
    }
}
