//! Whether a descriptor is one of /dev/random or /dev/urandom. The kernel is asked.
//!
//! What is remembered, in bits for each of the first 65536 numbers, does no harm if it is wrong:
//! - *It is something else.* Other reads then cost a comparison. If it is a device after all, the
//!   kernel reads it.
//! - *If it is a device, it was opened for reading.* If it was not, it is read nevertheless.
//!
//! Whatever makes a number mean something else and can be seen clears its bits. What would do harm
//! is random bytes in the place of a file's. So that a descriptor is a device is never remembered,
//! but asked before each request that squall serves, and ways to reuse its number that nobody sees
//! (`fclose`, system calls made directly) are no danger.
//!
//! A child of vfork(2), or of clone(2) with its parent's memory, has its own descriptors but these
//! same bits. What it sets costs its parent the kernel's speed, what it clears a question.

use core::ffi::{c_int, c_uint};
use core::sync::atomic::{AtomicU64, Ordering};

use squall::hazmat::keep_errno;

use crate::sandbox;

/// A bit for each number.
type Bits = [AtomicU64; 1024];

/// Set if it was something else.
static OTHERS: Bits = [const { AtomicU64::new(0) }; 1024];

/// Set if it was a device, opened for reading.
static READABLE: Bits = [const { AtomicU64::new(0) }; 1024];

/// Whether `fd` is not known to be something else. One comparison, for all that is.
#[inline(always)]
pub(crate) fn may_be_random(fd: c_int) -> bool {
    !is_set(&OTHERS, fd)
}

/// Whether `fd` is one of /dev/random or /dev/urandom: character devices 1:8 and 1:9 (Linux
/// Documentation/admin-guide/devices.txt), however they were opened and whatever they are called.
#[cold]
pub(crate) fn is_random(fd: c_int) -> bool {
    if sandbox::is_entered() {
        return false;
    }
    let Some(stat) = keep_errno(|| squall::hazmat::stat(fd)) else {
        return false;
    };
    let is_random = stat.st_mode & libc::S_IFMT == libc::S_IFCHR
        && [libc::makedev(1, 8), libc::makedev(1, 9)].contains(&stat.st_rdev);
    if !is_random {
        set(&OTHERS, fd);
    }
    is_random
}

/// Whether the device `fd` was opened for reading. The kernel is asked to read nothing, which it
/// refuses as ever.
pub(crate) fn is_readable(fd: c_int) -> bool {
    if is_set(&READABLE, fd) {
        return true;
    }
    let nothing = core::ptr::null_mut::<u8>();
    // SAFETY: no bytes are asked for. A raw call: `read` is this library's.
    let answer = keep_errno(|| unsafe { libc::syscall(libc::SYS_read, fd, nothing, 0usize) });
    if answer == 0 {
        set(&READABLE, fd);
    }
    answer == 0
}

/// `fd` means, or soon will mean, something else than before. Nothing is done for numbers below 0,
/// so that the result of a call may be told as it is.
#[inline]
pub(crate) fn forget(fd: c_int) {
    for bits in [&OTHERS, &READABLE] {
        if let Some((word, bit)) = place(bits, fd)
            && word.load(Ordering::Relaxed) & bit != 0
        {
            word.fetch_and(!bit, Ordering::Relaxed);
        }
    }
}

/// As [`forget`], for all numbers from `first` to `last`.
pub(crate) fn forget_all(first: c_uint, last: c_uint) {
    for bits in [&OTHERS, &READABLE] {
        for (word, number) in bits.iter().zip((0..).step_by(64)) {
            let within = those_within(number, first, last);
            if word.load(Ordering::Relaxed) & within != 0 {
                word.fetch_and(!within, Ordering::Relaxed);
            }
        }
    }
}

/// Of the 64 numbers from `number` on, those between `first` and `last`, a bit each.
fn those_within(number: c_uint, first: c_uint, last: c_uint) -> u64 {
    if last < number || first > number + 63 || first > last {
        return 0;
    }
    let from = first.saturating_sub(number);
    let to = (last - number).min(63);
    u64::MAX << from & u64::MAX >> (63 - to)
}

#[inline(always)]
fn is_set(bits: &'static Bits, fd: c_int) -> bool {
    place(bits, fd).is_some_and(|(word, bit)| word.load(Ordering::Relaxed) & bit != 0)
}

fn set(bits: &'static Bits, fd: c_int) {
    if let Some((word, bit)) = place(bits, fd) {
        word.fetch_or(bit, Ordering::Relaxed);
    }
}

/// Where the bit of `fd` is, if it has one.
#[inline(always)]
fn place(bits: &'static Bits, fd: c_int) -> Option<(&'static AtomicU64, u64)> {
    let number = fd as c_uint as usize;
    Some((bits.get(number / 64)?, 1 << (number % 64)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_have_their_numbers() {
        let edges = [0, 1, 62, 63, 64, 65, 127, 128, 65535, 65536, c_uint::MAX];
        for (first, last) in edges.iter().flat_map(|a| edges.map(|b| (*a, b))) {
            for number in (0..192).chain(65_472..65_536) {
                let start = number / 64 * 64;
                let is_in = those_within(start, first, last) >> (number - start) & 1 == 1;
                assert_eq!(
                    is_in,
                    (first..=last).contains(&number),
                    "{number} {first} {last}"
                );
            }
        }
    }
}
