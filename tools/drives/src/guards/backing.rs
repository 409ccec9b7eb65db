//! What is behind a device, or served to others: a file or another device.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use crate::target::Inode;
use crate::target::device::Number;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Backing {
    File(Inode),
    Device(Number),
}

impl Backing {
    /// The file or device that has this name in this mount namespace.
    pub fn named(name: impl AsRef<Path>) -> io::Result<Backing> {
        let metadata = fs::metadata(name)?;
        Ok(if metadata.file_type().is_block_device() {
            Backing::Device(Number::new(metadata.rdev()))
        } else {
            Backing::File(Inode::from_metadata(&metadata))
        })
    }
}
