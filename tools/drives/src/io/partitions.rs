//! The partitions that the kernel knows of a drive.

#![allow(unsafe_code)]

use std::os::fd::AsFd;

use rustix::ioctl::{NoArg, Opcode, ioctl, opcode};

/// Has the kernel read the table of partitions again.
pub fn reread(drive: impl AsFd) -> rustix::io::Result<()> {
    /// BLKRRPART of linux/fs.h.
    const REREAD: Opcode = opcode::none(0x12, 95);
    // SAFETY: this request takes no argument.
    unsafe { ioctl(drive, NoArg::<REREAD>::new()) }
}

/// Has the kernel look for partitions again where there are none any more.
pub fn forget(drive: impl AsFd) {
    // Refused to what has no partitions, which is as good.
    let _ = reread(drive);
}
