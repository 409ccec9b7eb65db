//! Where the signal of clones is in memory, and how its words become one.

use core::sync::atomic::{AtomicU64, Ordering};

use super::kvm_clock;

/// The address of a signal, and how it is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SignalAddress {
    pub first: *const AtomicU64,
    pub layout: Layout,
}

/// What is at the address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Layout(pub(super) u16);

impl Layout {
    /// kvm-clock's records, of which a request compares that of its own CPU.
    #[cfg(target_arch = "x86_64")]
    pub const OWN_RECORD: Layout = Layout(u16::MAX);
    /// The same, on a CPU that has no instruction to read its number: a request compares all.
    pub const ALL_RECORDS: Layout = Layout(u16::MAX - 1);

    /// One word.
    pub const ONE_WORD: Layout = Layout(0);
    /// Two adjacent words.
    pub const TWO_WORDS: Layout = Layout(size_of::<u64>() as u16);

    fn is_records(self) -> bool {
        self.0 >= Self::ALL_RECORDS.0
    }
}

impl SignalAddress {
    pub const NONE: SignalAddress = SignalAddress {
        first: core::ptr::null(),
        layout: Layout::ONE_WORD,
    };

    /// Whether there is no signal, or one that is read by loads alone.
    pub fn is_simple(self) -> bool {
        self.first.is_null() || self.is_own_record()
    }

    fn is_own_record(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        return self.layout == Layout::OWN_RECORD;
        #[cfg(not(target_arch = "x86_64"))]
        false
    }

    /// What a request compares; 0 if there is no signal.
    ///
    /// # Safety
    /// The signal is mapped, and the CPU has RDPID if the layout is [`Layout::OWN_RECORD`].
    pub unsafe fn word(self) -> u64 {
        // SAFETY: the caller promises it.
        unsafe {
            if self.is_simple() {
                self.word_if_simple()
            } else {
                self.word_without_cpu()
            }
        }
    }

    /// Same as [`word`](Self::word), if the signal [is simple](Self::is_simple).
    ///
    /// # Safety
    /// Same as [`word`](Self::word).
    #[inline(always)]
    pub unsafe fn word_if_simple(self) -> u64 {
        #[cfg(target_arch = "x86_64")]
        if !self.first.is_null() {
            // SAFETY: the caller promises it.
            return unsafe { kvm_clock::own_record(self.first) };
        }
        0
    }

    /// The signal's value plus one, the same on every CPU.
    ///
    /// # Safety
    /// There is a signal, and it is mapped.
    pub unsafe fn value(self) -> u64 {
        // SAFETY: the caller promises it.
        unsafe { self.word_without_cpu() }.wrapping_add(1)
    }

    /// # Safety
    /// Same as [`value`](Self::value).
    #[inline(never)]
    unsafe fn word_without_cpu(self) -> u64 {
        if self.layout.is_records() {
            // SAFETY: the caller promises it.
            return unsafe { kvm_clock::all_records(self.first) };
        }
        let Layout(to_last) = self.layout;
        // SAFETY: the caller promises it.
        unsafe {
            fold([
                (*self.first).load(Ordering::Relaxed),
                (*self.first.byte_add(to_last.into())).load(Ordering::Relaxed),
            ])
        }
    }
}

/// Folds a signal's two words into one. Two identifiers of vmgenid, which are random, fold to the same
/// word once in 2^64.
fn fold([first, last]: [u64; 2]) -> u64 {
    first.rotate_left(32) ^ last
}
