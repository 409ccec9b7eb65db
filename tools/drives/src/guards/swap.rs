//! Finds what is used as swap, from /proc/swaps.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use squall_tools::Failure;
use squall_tools::failure::at;

use super::mounts;
use crate::target::Inode;
use crate::target::device::Number;

const SWAPS: &str = "/proc/swaps";

/// The devices and files in use as swap.
#[derive(Debug, Default)]
pub(super) struct Swap {
    pub devices: Vec<Number>,
    pub files: Vec<Inode>,
}

pub(super) fn all() -> Result<Swap, Failure> {
    let text = match fs::read(SWAPS) {
        // A kernel without swap.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Swap::default()),
        text => text.map_err(at(Path::new(SWAPS)))?,
    };
    let mut swap = Swap::default();
    for line in text.split(|&byte| byte == b'\n').skip(1) {
        let name = line.split(|byte| b" \t".contains(byte)).next();
        // Swap that has no name here is caught when the target is opened.
        let Ok(metadata) = fs::metadata(mounts::path(name.unwrap_or_default())) else {
            continue;
        };
        if metadata.file_type().is_block_device() {
            swap.devices.push(Number::new(metadata.rdev()))
        } else {
            swap.files.push(Inode::of(&metadata))
        }
    }
    Ok(swap)
}
