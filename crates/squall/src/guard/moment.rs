//! What the fast path compares before bytes leave: the kernel's generation, and the word that tells
//! more of clones on this machine, vmclock's count or the kernel's tick.
//!
//! The two places stand beside each other, because each request reads both.

use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use crate::seam::{self, Seam};

struct Places {
    generation: AtomicPtr<AtomicU64>,
    second: AtomicPtr<AtomicU64>,
}

static PLACES: Places = Places {
    generation: AtomicPtr::new((&raw const NEVER).cast_mut()),
    second: AtomicPtr::new((&raw const NOTHING).cast_mut()),
};

/// Reads as a generation that no state was seeded under.
static NEVER: AtomicU64 = AtomicU64::new(0);

/// Reads as a word that never changes.
static NOTHING: AtomicU64 = AtomicU64::new(0);

/// What every generation appears to be while a test has switched their comparison off.
pub(super) const FROZEN: u64 = 1;

/// The kernel's current generation where it is mapped, else 0, which no state was seeded under.
#[inline(always)]
pub(crate) fn mapped_generation() -> u64 {
    // SAFETY: the place is `NEVER`, or in the vDSO's data, which stays mapped.
    let generation =
        unsafe { (*PLACES.generation.load(Ordering::Relaxed)).load(Ordering::Relaxed) };
    match seam::is_off(Seam::GenerationCheck) && generation != 0 {
        true => FROZEN,
        false => generation,
    }
}

/// Changes with the kernel's generation and with the second word, where they are followed.
///
/// Both count in their lower halves, so one half is for each: no change of one undoes the other's.
/// Never has all bits set: a generation is counted up from 1.
#[inline(always)]
pub(crate) fn now() -> u64 {
    // SAFETY: the place is `NOTHING`, or in memory that stays mapped, by `read_second_at`.
    let second = unsafe { (*PLACES.second.load(Ordering::Relaxed)).load(Ordering::Relaxed) };
    mapped_generation() ^ second.rotate_left(32)
}

/// The generation is read at `place` from here on, which stays mapped; nowhere if there is none.
pub(super) fn read_generation_at(place: Option<*const AtomicU64>) {
    let place = place.unwrap_or(&raw const NEVER);
    PLACES.generation.store(place.cast_mut(), Ordering::Relaxed);
}

/// The second word is read at `place` from here on, which stays mapped.
pub(super) fn read_second_at(place: *const AtomicU64) {
    PLACES.second.store(place.cast_mut(), Ordering::Relaxed);
}
