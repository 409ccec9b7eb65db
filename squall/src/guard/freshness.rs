//! The freshness tag, which the fast path compares before bytes leave: the kernel's generation and,
//! where there is one, the [signal of clones](super::clone_signal).
//!
//! The process has their addresses here; each thread keeps a copy of the addresses beside its lock
//! ([`ThreadLine`](super::thread_line)) and updates it with every refill.

use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU16, AtomicU64, Ordering};

use super::signal_address::{SignalAddress, fold};
use crate::failpoint::{self, Failpoint};

static GENERATION: AtomicPtr<AtomicU64> = AtomicPtr::new((&raw const UNMAPPED).cast_mut());

/// The signal of clones; null where there is none.
static SIGNAL: AtomicPtr<AtomicU64> = AtomicPtr::new(null_mut());

/// Bytes from the signal's first word to its last.
static SIGNAL_TO_LAST: AtomicU16 = AtomicU16::new(0);

/// Stands in for a generation that is not mapped: no state was seeded under 0.
static UNMAPPED: AtomicU64 = AtomicU64::new(0);

/// The value of every generation while a test has switched its comparison off.
pub(super) const FROZEN: u64 = 1;

/// The kernel's current generation where it is mapped, else 0, which no state was seeded under.
#[inline(always)]
pub(crate) fn mapped_generation() -> u64 {
    // SAFETY: the place is `UNMAPPED`, or in the vDSO's data, which stays mapped.
    unless_frozen(unsafe { (*generation_address()).load(Ordering::Relaxed) })
}

/// The generation itself, or 1 if a test freezes it.
#[inline(always)]
pub(super) fn unless_frozen(generation: u64) -> u64 {
    if failpoint::is_active(Failpoint::FreezeGeneration) && generation != 0 {
        FROZEN
    } else {
        generation
    }
}

/// Where the words of the tag are, for those who compare it often.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TagAddresses {
    pub(super) generation: *const AtomicU64,
    pub(super) signal: SignalAddress,
}

impl TagAddresses {
    /// The addresses as they are now: that of the signal may still change, soon after the first draws.
    pub fn now() -> TagAddresses {
        TagAddresses {
            generation: generation_address(),
            signal: signal_address(),
        }
    }

    /// The current tag.
    #[inline(always)]
    pub fn tag(&self) -> u64 {
        // SAFETY: the place is `UNMAPPED`, or in the vDSO's data, which stays mapped.
        let generation = unless_frozen(unsafe { (*self.generation).load(Ordering::Relaxed) });
        if self.signal.first.is_null() {
            return generation;
        }
        // SAFETY: by `set_signal_address`, the place is in memory that stays mapped.
        combine(generation, unsafe { self.signal.read() })
    }
}

/// The current tag, with `generation` in place of the kernel's current one. It changes with either.
///
/// An empty page is fresh only under a tag of all ones, which takes one value of the signal out of
/// 2^64.
pub(crate) fn tag_under(generation: u64) -> u64 {
    let signal = signal_address();
    if signal.first.is_null() {
        return generation;
    }
    // SAFETY: by `set_signal_address`, the place is in memory that stays mapped.
    combine(generation, unsafe { signal.read() })
}

/// The tag of a generation and a signal's words.
///
/// Generations and counts change in their lower halves. [`fold`] puts a count, which is the signal's
/// only word, into both halves: so a change of the count cannot undo a change of the generation.
#[inline(always)]
pub(super) fn combine(generation: u64, signal: [u64; 2]) -> u64 {
    generation ^ fold(signal)
}

/// The address of the kernel's generation, or of a word of 0 if the generation is not mapped.
#[inline(always)]
pub(super) fn generation_address() -> *const AtomicU64 {
    GENERATION.load(Ordering::Relaxed)
}

/// The address of the signal of clones; null if there is none.
#[inline(always)]
pub(crate) fn signal_address() -> SignalAddress {
    let first = SIGNAL.load(Ordering::Acquire);
    SignalAddress {
        first,
        to_last: SIGNAL_TO_LAST.load(Ordering::Relaxed),
    }
}

/// Sets the address of the generation, which must stay mapped; `None` if there is none.
pub(super) fn set_generation_address(address: Option<*const AtomicU64>) {
    let address = address.unwrap_or(&raw const UNMAPPED);
    GENERATION.store(address.cast_mut(), Ordering::Relaxed);
}

/// Sets the address of the signal, which must stay mapped.
pub(super) fn set_signal_address(address: SignalAddress) {
    SIGNAL_TO_LAST.store(address.to_last, Ordering::Relaxed);
    SIGNAL.store(address.first.cast_mut(), Ordering::Release);
}

#[cfg(test)]
mod tests {
    use super::combine;
    use std::collections::HashSet;

    #[test]
    fn no_change_of_a_count_undoes_the_generations() {
        let counts = || (0..64).chain([u64::MAX >> 32]);
        let tags: HashSet<u64> = counts()
            .flat_map(|generation| counts().map(move |count| combine(generation, [count; 2])))
            .collect();
        assert_eq!(tags.len(), 65 * 65);
    }

    #[test]
    fn every_bit_of_an_identifier_changes_the_tag() {
        for bit in 0..64 {
            for identifier in [[1 << bit, 0], [0, 1 << bit]] {
                assert_ne!(combine(5, identifier), combine(5, [0, 0]));
            }
        }
    }
}
