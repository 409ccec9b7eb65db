//! The freshness tag, which the fast path compares before bytes leave: the kernel's generation and,
//! where there is a vmclock, its count.
//!
//! Where both words are is known to the whole process; each thread keeps a copy of the addresses
//! beside its lock ([`ThreadLine`](super::thread_line)) and renews it in every refill.

use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use crate::failpoint::{self, Failpoint};

static GENERATION: AtomicPtr<AtomicU64> = AtomicPtr::new((&raw const NEVER).cast_mut());

/// The second word; null where there is none.
static SECOND: AtomicPtr<AtomicU64> = AtomicPtr::new(null_mut());

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

/// The current tag, with `generation` in place of the kernel's current one. It changes with either
/// word.
///
/// An empty page is fresh only under a tag of all ones, which takes one count of vmclock out of
/// 2^64.
pub(crate) fn under(generation: u64) -> u64 {
    // SAFETY: by `read_second_at`, the place is in memory that stays mapped.
    match unsafe { second_place().as_ref() } {
        None => generation,
        Some(second) => combined(generation, second.load(Ordering::Relaxed)),
    }
}

/// Rotates the second word by half: both words count in their lower halves, so a change of one
/// cannot undo a change of the other.
#[inline(always)]
pub(super) fn combined(generation: u64, second: u64) -> u64 {
    generation ^ second.rotate_left(32)
}

/// Where the kernel's generation is, or a word of 0 if it is not mapped.
#[inline(always)]
pub(super) fn generation_place() -> *const AtomicU64 {
    GENERATION.load(Ordering::Relaxed)
}

/// Where the second word is; null if there is none.
#[inline(always)]
pub(super) fn second_place() -> *const AtomicU64 {
    SECOND.load(Ordering::Relaxed)
}

/// Sets the address of the generation, which must stay mapped; `None` if there is none.
pub(super) fn read_generation_at(place: Option<*const AtomicU64>) {
    let place = place.unwrap_or(&raw const NEVER);
    GENERATION.store(place.cast_mut(), Ordering::Relaxed);
}

/// Sets the address of the second word, which must stay mapped.
pub(super) fn read_second_at(place: *const AtomicU64) {
    SECOND.store(place.cast_mut(), Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::combined;
    use std::collections::HashSet;

    #[test]
    fn no_change_of_one_word_undoes_the_others() {
        let counts = || (0..64).chain([u64::MAX >> 32]);
        let tags: HashSet<u64> = counts()
            .flat_map(|generation| counts().map(move |second| combined(generation, second)))
            .collect();
        assert_eq!(tags.len(), 65 * 65);
    }
}
