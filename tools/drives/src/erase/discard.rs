//! The kernel's secure discard (BLKSECDISCARD), which erases data with all copies of it.

#![allow(unsafe_code)]

use std::fs::File;

use rustix::io::Errno;
use rustix::ioctl::{Opcode, Setter, opcode};
use squall_tool_base::failure::cause;

/// BLKSECDISCARD of linux/fs.h, `_IO(0x12, 125)`. It takes an offset and a length, in bytes.
const SECURE_DISCARD: Opcode = opcode::none(0x12, 125);

/// Before this release, the kernel's answer does not distinguish secure discards from others.
const ANSWERS_FOR_SECURE_DISCARD_SINCE: (u32, u32) = (5, 19);

/// Whether a device has secure discard.
///
/// The kernel checks this first. Only then does it refuse a range that is not of whole sectors,
/// before anything is done (blk_ioctl_secure_erase in block/ioctl.c).
pub fn is_supported(file: &File) -> bool {
    const NO_SECTOR: [u64; 2] = [1, 1];
    let release = rustix::system::uname();
    let tells = version(&release.release().to_string_lossy())
        .is_some_and(|now| now >= ANSWERS_FOR_SECURE_DISCARD_SINCE);
    tells && discard(file, NO_SECTOR) == Err(Errno::INVAL)
}

pub fn run(file: &File, size: u64) -> Result<(), String> {
    discard(file, [0, size]).map_err(|error| cause(&error.into()))
}

fn discard(file: &File, range: [u64; 2]) -> rustix::io::Result<()> {
    // SAFETY: this request reads two numbers of 64 bits, which Setter points to.
    unsafe { rustix::ioctl::ioctl(file, Setter::<SECURE_DISCARD, [u64; 2]>::new(range)) }
}

/// The first two numbers of a kernel's release.
pub fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    let mut next = || numbers.next()?.parse().ok();
    Some((next()?, next()?))
}
