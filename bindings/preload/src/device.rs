//! Tells whether a descriptor is one of /dev/random or /dev/urandom, by asking the kernel.
//!
//! Two facts are remembered in bits, for each of the first 65536 descriptors. Neither does harm if it
//! is wrong:
//! - *It is another file.* Its reads then cost only a comparison. If it is a device after all, the
//!   kernel serves the reads.
//! - *If it is a device, it was opened for reading.* If it was not, reads succeed nevertheless.
//!
//! Every call through this library that changes a descriptor's meaning clears its bits. Random bytes in
//! place of a file's content would do harm. So squall never remembers that a descriptor is a device, and
//! asks the kernel before each request that it serves. Ways to reuse a descriptor's number that this
//! library does not see (`fclose`, direct system calls) are therefore harmless.
//!
//! A child of vfork(2), or of clone(2) with shared memory, has its own descriptors but shares these
//! bits. If the child sets a bit, its parent uses the kernel; if it clears one, its parent asks the kernel again.

use core::ffi::{c_int, c_uint};
use core::sync::atomic::{AtomicU64, Ordering};

use squall::internal::keep_errno;

use crate::sandbox;

/// A bit for each descriptor.
type Bits = [AtomicU64; 1024];

/// Set if the descriptor was another file.
static OTHER_FILES: Bits = [const { AtomicU64::new(0) }; 1024];

/// Set if the descriptor was a device, opened for reading.
static READABLE: Bits = [const { AtomicU64::new(0) }; 1024];

/// Whether `fd` may be a device: false if it is known to be another file. Costs one comparison.
#[inline(always)]
pub(crate) fn may_be_random(fd: c_int) -> bool {
    !is_set(&OTHER_FILES, fd)
}

/// Whether `fd` is /dev/random or /dev/urandom: character device 1:8 or 1:9 (Linux
/// Documentation/admin-guide/devices.txt), however it was opened and whatever its name is.
#[cold]
pub(crate) fn is_random(fd: c_int) -> bool {
    if sandbox::is_entered() {
        return false;
    }
    let Some(stat) = keep_errno(|| squall::internal::stat(fd)) else {
        return false;
    };
    let is_random = stat.st_mode & libc::S_IFMT == libc::S_IFCHR
        && [libc::makedev(1, 8), libc::makedev(1, 9)].contains(&stat.st_rdev);
    if !is_random {
        set(&OTHER_FILES, fd);
    }
    is_random
}

/// Whether the device `fd` was opened for reading. Asks the kernel with a read of no bytes, which it
/// refuses if the device was not.
pub(crate) fn is_readable(fd: c_int) -> bool {
    if is_set(&READABLE, fd) {
        return true;
    }
    let nothing = core::ptr::null_mut::<u8>();
    // SAFETY: no bytes are requested. A raw call, because this library replaces `read`.
    let answer = keep_errno(|| unsafe { libc::syscall(libc::SYS_read, fd, nothing, 0usize) });
    if answer == 0 {
        set(&READABLE, fd);
    }
    answer == 0
}

/// Forgets `fd`, which means another file now or soon. Does nothing for negative numbers, so the
/// result of a call can be passed unchecked.
#[inline]
pub(crate) fn forget(fd: c_int) {
    for bits in [&OTHER_FILES, &READABLE] {
        if let Some((word, bit)) = bit_of(bits, fd)
            && word.load(Ordering::Relaxed) & bit != 0
        {
            word.fetch_and(!bit, Ordering::Relaxed);
        }
    }
}

/// Like [`forget`], for all numbers from `first` to `last`.
pub(crate) fn forget_all(first: c_uint, last: c_uint) {
    for bits in [&OTHER_FILES, &READABLE] {
        for (word, number) in bits.iter().zip((0..).step_by(64)) {
            let within = mask_within(number, first, last);
            if word.load(Ordering::Relaxed) & within != 0 {
                word.fetch_and(!within, Ordering::Relaxed);
            }
        }
    }
}

/// A mask with a bit for each of the 64 numbers from `number` on, set for those from `first` to `last`.
fn mask_within(number: c_uint, first: c_uint, last: c_uint) -> u64 {
    if last < number || first > number + 63 || first > last {
        return 0;
    }
    let from = first.saturating_sub(number);
    let to = (last - number).min(63);
    u64::MAX << from & u64::MAX >> (63 - to)
}

#[inline(always)]
fn is_set(bits: &'static Bits, fd: c_int) -> bool {
    bit_of(bits, fd).is_some_and(|(word, bit)| word.load(Ordering::Relaxed) & bit != 0)
}

fn set(bits: &'static Bits, fd: c_int) {
    if let Some((word, bit)) = bit_of(bits, fd) {
        word.fetch_or(bit, Ordering::Relaxed);
    }
}

/// The word and the mask of the bit for `fd`; `None` if `fd` has no bit.
#[inline(always)]
fn bit_of(bits: &'static Bits, fd: c_int) -> Option<(&'static AtomicU64, u64)> {
    let number = fd as c_uint as usize;
    Some((bits.get(number / 64)?, 1 << (number % 64)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_cover_the_numbers_of_the_range() {
        let edges = [0, 1, 62, 63, 64, 65, 127, 128, 65535, 65536, c_uint::MAX];
        for (first, last) in edges.iter().flat_map(|a| edges.map(|b| (*a, b))) {
            for number in (0..192).chain(65_472..65_536) {
                let start = number / 64 * 64;
                let is_in = mask_within(start, first, last) >> (number - start) & 1 == 1;
                assert_eq!(
                    is_in,
                    (first..=last).contains(&number),
                    "{number} {first} {last}"
                );
            }
        }
    }
}
