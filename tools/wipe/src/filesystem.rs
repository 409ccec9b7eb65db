//! Properties of files that follow from the type of their filesystem.

use std::path::Path;

use rustix::fs::StatFs;

/// Magic numbers of linux/magic.h, and of filesystems that are not in it.
const IN_MEMORY: [u32; 2] = [0x0102_1994, 0x8584_58f6];
const COPY_ON_WRITE: [(u32, &str); 6] = [
    (0x9123_683e, "btrfs"),
    (0x2fc1_2fc1, "zfs"),
    (0xca45_1a4e, "bcachefs"),
    (0xf2f5_2010, "f2fs"),
    (0x3434, "nilfs2"),
    (0x794c_7630, "overlayfs"),
];

/// Whether `path` is in memory, and so lost in a power cut.
pub fn is_in_memory(path: &Path) -> bool {
    kind(path).is_some_and(|kind| IN_MEMORY.contains(&kind))
}

/// The name of `path`'s filesystem, if it writes changes to other places than what they replace, so
/// that old contents stay.
pub fn copy_on_write_name(path: &Path) -> Option<&'static str> {
    let kind = kind(path)?;
    COPY_ON_WRITE
        .iter()
        .find(|(magic, _)| *magic == kind)
        .map(|(_, name)| *name)
}

fn kind(path: &Path) -> Option<u32> {
    let about: StatFs = rustix::fs::statfs(path).ok()?;
    Some(about.f_type as u32)
}
