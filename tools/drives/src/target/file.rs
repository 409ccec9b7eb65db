//! The identity of a regular file, and the unit of its direct transfers.

use std::fmt;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, StatxFlags};

use super::device::Number;

/// A unit, in bytes, that every file system with direct transfers accepts.
const COMMON_UNIT: u32 = 4096;

/// What identifies a file, whatever its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Inode {
    /// The device of its file system.
    pub device: Number,
    /// The inode number in that file system.
    pub number: u64,
}

impl Inode {
    /// The inode that `metadata` describes.
    pub fn of(metadata: &Metadata) -> Inode {
        Inode {
            device: Number::new(metadata.dev()),
            number: metadata.ino(),
        }
    }
}

impl fmt::Display for Inode {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}:{}", self.device, self.number)
    }
}

/// The unit of direct transfers of the file at `path`, in bytes.
pub(super) fn direct_unit(path: &Path) -> u32 {
    let wanted = StatxFlags::DIOALIGN;
    let told = rustix::fs::statx(CWD, path, AtFlags::empty(), wanted)
        .ok()
        .filter(|statx| statx.stx_mask & wanted.bits() != 0)
        .map(|statx| statx.stx_dio_offset_align);
    match told {
        None | Some(0) => COMMON_UNIT,
        Some(unit) => unit,
    }
}
