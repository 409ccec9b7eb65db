//! The freshness tag, which the fast path compares before bytes leave: the kernel's generation and,
//! where there is one, the [signal of clones](super::clone_signal).
//!
//! Where they are is known to the whole process; each thread keeps a copy of the addresses
//! beside its lock ([`ThreadLine`](super::thread_line)) and renews it in every refill.

use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU16, AtomicU64, Ordering};

use super::clone_signal::Place;
use crate::failpoint::{self, Failpoint};

static GENERATION: AtomicPtr<AtomicU64> = AtomicPtr::new((&raw const NEVER).cast_mut());

/// The signal of clones; null where there is none.
static SIGNAL: AtomicPtr<AtomicU64> = AtomicPtr::new(null_mut());

/// Bytes from the signal's first word to its last.
static SIGNAL_TO_LAST: AtomicU16 = AtomicU16::new(0);

/// Stands in for a generation that is not mapped: no state was seeded under 0.
static NEVER: AtomicU64 = AtomicU64::new(0);

/// The value of every generation while a test has switched its comparison off.
pub(super) const FROZEN: u64 = 1;

/// The kernel's current generation where it is mapped, else 0, which no state was seeded under.
#[inline(always)]
pub(crate) fn mapped_generation() -> u64 {
    // SAFETY: the place is `NEVER`, or in the vDSO's data, which stays mapped.
    unless_frozen(unsafe { (*generation_place()).load(Ordering::Relaxed) })
}

/// What stands for this generation: itself, or 1 if a test has switched the comparison off.
#[inline(always)]
pub(super) fn unless_frozen(generation: u64) -> u64 {
    if failpoint::is_off(Failpoint::GenerationCheck) && generation != 0 {
        FROZEN
    } else {
        generation
    }
}

/// The current tag, with `generation` in place of the kernel's current one. It changes with either.
///
/// An empty page is fresh only under a tag of all ones, which takes one value of the signal out of
/// 2^64.
pub(crate) fn under(generation: u64) -> u64 {
    let signal = signal_place();
    if signal.first.is_null() {
        return generation;
    }
    // SAFETY: by `read_signal_at`, the place is in memory that stays mapped.
    combined(generation, unsafe { signal.read() })
}

/// The tag of a generation and a signal's words.
///
/// Generations and counts change in their lower halves. [`folded`] has a count, which is its only word,
/// in both halves: so a change of one cannot undo a change of the other.
#[inline(always)]
pub(super) fn combined(generation: u64, signal: [u64; 2]) -> u64 {
    generation ^ folded(signal)
}

/// A signal's two words as one. Different identifiers of vmgenid, which are random, fold to the same
/// word once in 2^64.
#[inline(always)]
pub(super) fn folded([first, last]: [u64; 2]) -> u64 {
    first.rotate_left(32) ^ last
}

/// Where the kernel's generation is, or a word of 0 if it is not mapped.
#[inline(always)]
pub(super) fn generation_place() -> *const AtomicU64 {
    GENERATION.load(Ordering::Relaxed)
}

/// Where the signal of clones is; null if there is none.
#[inline(always)]
pub(super) fn signal_place() -> Place {
    let first = SIGNAL.load(Ordering::Acquire);
    Place {
        first,
        to_last: SIGNAL_TO_LAST.load(Ordering::Relaxed),
    }
}

/// Sets the address of the generation, which must stay mapped; `None` if there is none.
pub(super) fn read_generation_at(place: Option<*const AtomicU64>) {
    let place = place.unwrap_or(&raw const NEVER);
    GENERATION.store(place.cast_mut(), Ordering::Relaxed);
}

/// Sets the place of the signal, which must stay mapped.
pub(super) fn read_signal_at(place: Place) {
    SIGNAL_TO_LAST.store(place.to_last, Ordering::Relaxed);
    SIGNAL.store(place.first.cast_mut(), Ordering::Release);
}

#[cfg(test)]
mod tests {
    use super::combined;
    use std::collections::HashSet;

    #[test]
    fn no_change_of_a_count_undoes_the_generations() {
        let counts = || (0..64).chain([u64::MAX >> 32]);
        let tags: HashSet<u64> = counts()
            .flat_map(|generation| counts().map(move |count| combined(generation, [count; 2])))
            .collect();
        assert_eq!(tags.len(), 65 * 65);
    }

    #[test]
    fn every_bit_of_an_identifier_changes_the_tag() {
        for bit in 0..64 {
            for identifier in [[1 << bit, 0], [0, 1 << bit]] {
                assert_ne!(combined(5, identifier), combined(5, [0, 0]));
            }
        }
    }
}
