//! The kernel's generation and its tick, read where the vDSO's data shows them: what the fast path
//! compares before bytes leave.
//!
//! The two places stand beside each other, because each request reads both.

use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use crate::seam::{self, Seam};

struct Places {
    generation: AtomicPtr<AtomicU64>,
    tick: AtomicPtr<AtomicU64>,
}

static PLACES: Places = Places {
    generation: AtomicPtr::new((&raw const NEVER).cast_mut()),
    tick: AtomicPtr::new((&raw const NO_TICK).cast_mut()),
};

/// Reads as a generation that no state was seeded under.
static NEVER: AtomicU64 = AtomicU64::new(0);

/// Reads as a tick that never ends.
static NO_TICK: AtomicU64 = AtomicU64::new(0);

/// What every generation appears to be while a test has switched their comparison off.
pub(super) const FROZEN: u64 = 1;

/// The kernel's current generation where it is mapped, else 0, which no state was seeded under.
#[inline(always)]
pub(crate) fn mapped_generation() -> u64 {
    if seam::is_off(Seam::GenerationCheck) {
        return FROZEN;
    }
    // SAFETY: the place is `NEVER`, or in the vDSO's data, which stays mapped.
    unsafe { (*PLACES.generation.load(Ordering::Relaxed)).load(Ordering::Relaxed) }
}

/// Changes with the kernel's generation and with its tick, where they are followed. Never has all
/// bits set: a generation is counted up from 1, and a tick's upper half is a small number.
#[inline(always)]
pub(crate) fn now() -> u64 {
    // SAFETY: the place is `NO_TICK`, or in the vDSO's data, which stays mapped.
    let tick = unsafe { (*PLACES.tick.load(Ordering::Relaxed)).load(Ordering::Relaxed) };
    mapped_generation() ^ tick
}

/// The generation is read at `place` from here on, which stays mapped; nowhere if there is none.
pub(super) fn read_generation_at(place: Option<*const AtomicU64>) {
    let place = place.unwrap_or(&raw const NEVER);
    PLACES.generation.store(place.cast_mut(), Ordering::Relaxed);
}

/// The tick is read at `place` from here on, which stays mapped.
pub(super) fn read_tick_at(place: *const AtomicU64) {
    PLACES.tick.store(place.cast_mut(), Ordering::Relaxed);
}
