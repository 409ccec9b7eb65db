//! The freshness tag, which the fast path compares before bytes leave. It combines the kernel's
//! generation with a second word that changes when this VM may have been cloned: vmclock's count or
//! the kernel's tick.
//!
//! The addresses of both words are kept side by side, because each request reads both.

use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use crate::failpoint::{self, Failpoint};

struct Places {
    generation: AtomicPtr<AtomicU64>,
    second: AtomicPtr<AtomicU64>,
}

static PLACES: Places = Places {
    generation: AtomicPtr::new((&raw const NEVER).cast_mut()),
    second: AtomicPtr::new((&raw const NOTHING).cast_mut()),
};

/// Stands in for a generation that is not mapped: no state was seeded under 0.
static NEVER: AtomicU64 = AtomicU64::new(0);

/// Stands in for the second word where there is none.
static NOTHING: AtomicU64 = AtomicU64::new(0);

/// The value of every generation while a test has switched its comparison off.
pub(super) const FROZEN: u64 = 1;

/// The kernel's current generation where it is mapped, else 0, which no state was seeded under.
#[inline(always)]
pub(crate) fn mapped_generation() -> u64 {
    // SAFETY: the place is `NEVER`, or in the vDSO's data, which stays mapped.
    let generation =
        unsafe { (*PLACES.generation.load(Ordering::Relaxed)).load(Ordering::Relaxed) };
    if failpoint::is_off(Failpoint::GenerationCheck) && generation != 0 {
        FROZEN
    } else {
        generation
    }
}

/// The current tag. It changes with the kernel's generation and with the second word, where they
/// are followed.
///
/// An empty page is fresh only under a tag of all ones, which takes one count of vmclock out of
/// 2^64.
#[inline(always)]
pub(crate) fn now() -> u64 {
    under(mapped_generation())
}

/// The current tag, with `generation` in place of the kernel's current one.
#[inline(always)]
pub(crate) fn under(generation: u64) -> u64 {
    // SAFETY: the place is `NOTHING`, or in memory that stays mapped, by `read_second_at`.
    let second = unsafe { (*PLACES.second.load(Ordering::Relaxed)).load(Ordering::Relaxed) };
    combined(generation, second)
}

/// Rotates the second word by half: both words count in their lower halves, so a change of one
/// cannot undo a change of the other.
#[inline(always)]
fn combined(generation: u64, second: u64) -> u64 {
    generation ^ second.rotate_left(32)
}

/// The address of the kernel's generation, if it is mapped.
pub(super) fn generation_place() -> Option<*const AtomicU64> {
    let place = PLACES.generation.load(Ordering::Relaxed).cast_const();
    (!core::ptr::eq(place, &NEVER)).then_some(place)
}

/// The address of the second word, if there is one.
pub(super) fn second_place() -> Option<*const AtomicU64> {
    let place = PLACES.second.load(Ordering::Relaxed).cast_const();
    (!core::ptr::eq(place, &NOTHING)).then_some(place)
}

/// Sets the address of the generation, which must stay mapped; `None` if there is none.
pub(super) fn read_generation_at(place: Option<*const AtomicU64>) {
    let place = place.unwrap_or(&raw const NEVER);
    PLACES.generation.store(place.cast_mut(), Ordering::Relaxed);
}

/// Sets the address of the second word, which must stay mapped.
pub(super) fn read_second_at(place: *const AtomicU64) {
    PLACES.second.store(place.cast_mut(), Ordering::Relaxed);
}

/// Same as [`read_second_at`], if the second word is still read at `before`.
pub(super) fn move_second(before: Option<*const AtomicU64>, place: *const AtomicU64) {
    let before = before.unwrap_or(&raw const NOTHING).cast_mut();
    let _ = PLACES.second.compare_exchange(
        before,
        place.cast_mut(),
        Ordering::Relaxed,
        Ordering::Relaxed,
    );
}

#[cfg(test)]
mod tests {
    use super::{combined, mapped_generation, now, under};
    use std::collections::HashSet;

    /// The fast path compares with the same tag that buffers are filled under.
    #[test]
    fn now_is_the_tag_under_the_mapped_generation() {
        crate::fill(&mut [0; 16]);
        let tag = || under(mapped_generation());
        loop {
            let (before, now, after) = (tag(), now(), tag());
            if before == after {
                return assert_eq!(now, before);
            }
        }
    }

    #[test]
    fn no_change_of_one_word_undoes_the_others() {
        let counts = || (0..64).chain([u64::MAX >> 32]);
        let tags: HashSet<u64> = counts()
            .flat_map(|generation| counts().map(move |second| combined(generation, second)))
            .collect();
        assert_eq!(tags.len(), 65 * 65);
    }
}
