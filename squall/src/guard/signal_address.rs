//! Where the signal of clones is in memory, and how its words become one.

use core::sync::atomic::{AtomicU64, Ordering};

/// The address of a signal: one word, or two adjacent ones.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SignalAddress {
    pub first: *const AtomicU64,
    /// Bytes from the first word to the last: 0 if there is only one.
    pub to_last: u16,
}

impl SignalAddress {
    /// Reads the first word and the last.
    ///
    /// # Safety
    /// Both must be mapped.
    #[inline(always)]
    pub unsafe fn read(self) -> [u64; 2] {
        // SAFETY: the caller promises it.
        unsafe {
            [
                (*self.first).load(Ordering::Relaxed),
                (*self.first.byte_add(self.to_last.into())).load(Ordering::Relaxed),
            ]
        }
    }

    /// The signal's value plus one: 0 stands for no signal.
    ///
    /// # Safety
    /// Same as [`SignalAddress::read`].
    #[inline(always)]
    pub unsafe fn value(self) -> u64 {
        // SAFETY: the caller promises it.
        fold(unsafe { self.read() }).wrapping_add(1)
    }
}

/// Folds a signal's two words into one. Two identifiers of vmgenid, which are random, fold to the same
/// word once in 2^64.
#[inline(always)]
pub(super) fn fold([first, last]: [u64; 2]) -> u64 {
    first.rotate_left(32) ^ last
}
