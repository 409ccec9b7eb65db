//! Makes the kernel read a drive's partition table again.

#![allow(unsafe_code)]

use std::os::fd::AsFd;

use rustix::ioctl::{NoArg, Opcode, ioctl, opcode};

/// Makes the kernel read the partition table again.
pub fn reread(drive: impl AsFd) -> rustix::io::Result<()> {
    /// BLKRRPART of linux/fs.h.
    const REREAD: Opcode = opcode::none(0x12, 95);
    // SAFETY: this request takes no argument.
    unsafe { ioctl(drive, NoArg::<REREAD>::new()) }
}

/// Makes the kernel drop the partitions of a drive whose table is gone.
pub fn forget(drive: impl AsFd) {
    // A device without partitions refuses this, and has nothing to drop.
    let _ = reread(drive);
}
