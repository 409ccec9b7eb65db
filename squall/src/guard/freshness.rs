//! The freshness tag, which the fast path compares before bytes leave. It changes with a reseed of the kernel's RNG, with
//! the kernel's [tick](super::tick), and with the [signal of clones](super::clone_signal) if there is one.
//!
//! The process has the addresses of its parts here; each thread keeps a copy of them beside its lock
//! ([`ThreadLine`](super::thread_line)) and updates it with every refill.

use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use super::signal_address::SignalAddress;
use crate::failpoint::{self, Failpoint};

static GENERATION: AtomicPtr<AtomicU64> = AtomicPtr::new((&raw const UNMAPPED).cast_mut());

static TICK: AtomicPtr<AtomicU64> = AtomicPtr::new((&raw const UNMAPPED).cast_mut());

/// Stands in for what is not mapped. No state was seeded under generation 0.
static UNMAPPED: AtomicU64 = AtomicU64::new(0);

/// The value of every generation while a test has switched its comparison off.
pub(super) const FROZEN: u64 = 1;

/// What must be unchanged for bytes that were read to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tag {
    /// The kernel's generation and tick.
    pub kernel: u64,
    /// The signal of clones.
    pub vm: u64,
}

impl Tag {
    /// The generation is a count in the upper bits, where the tick has none: so neither hides a change of the other.
    #[inline(always)]
    fn new(generation: u64, tick: u64, vm: u64) -> Tag {
        const GENERATION_AT: u32 = 36;
        Tag {
            kernel: generation.rotate_left(GENERATION_AT) ^ tick,
            vm,
        }
    }
}

/// The kernel's current generation where it is mapped, else 0, which no state was seeded under.
#[inline(always)]
pub(crate) fn mapped_generation() -> u64 {
    // SAFETY: the place is `UNMAPPED`, or in the vDSO's data, which stays mapped.
    unless_frozen(unsafe { (*GENERATION.load(Ordering::Relaxed)).load(Ordering::Relaxed) })
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

/// Where the parts of the tag are, for those who compare it often.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TagAddresses {
    pub(super) generation: *const AtomicU64,
    pub(super) tick: *const AtomicU64,
    pub(super) signal: SignalAddress,
}

impl TagAddresses {
    /// The addresses as they are now, with that of the signal of clones: all may still change, soon after the first draws.
    pub fn now(signal: SignalAddress) -> TagAddresses {
        TagAddresses {
            generation: GENERATION.load(Ordering::Relaxed),
            tick: TICK.load(Ordering::Relaxed),
            signal,
        }
    }

    /// The current tag.
    #[inline(always)]
    pub fn tag(&self) -> Tag {
        self.tag_under(self.generation())
    }

    /// The current tag, with `generation` in place of the kernel's current one.
    #[inline(always)]
    pub fn tag_under(&self, generation: u64) -> Tag {
        // SAFETY: a signal stays mapped, and was found to be readable in this way.
        Tag::new(generation, self.tick(), unsafe { self.signal.word() })
    }

    /// The current tag, if the signal [is simple](SignalAddress::is_simple).
    #[inline(always)]
    pub fn tag_if_simple(&self) -> Tag {
        // SAFETY: as above.
        Tag::new(self.generation(), self.tick(), unsafe {
            self.signal.word_if_simple()
        })
    }

    #[inline(always)]
    fn generation(&self) -> u64 {
        // SAFETY: the place is `UNMAPPED`, or in the vDSO's data, which stays mapped.
        unless_frozen(unsafe { (*self.generation).load(Ordering::Relaxed) })
    }

    #[inline(always)]
    fn tick(&self) -> u64 {
        if failpoint::is_active(Failpoint::FreezeTick) {
            return 0;
        }
        // SAFETY: the place is `UNMAPPED`, or in the vDSO's data, which stays mapped.
        unsafe { (*self.tick).load(Ordering::Relaxed) }
    }
}

/// The address of the kernel's generation, if it is mapped.
pub(super) fn watched_generation() -> Option<usize> {
    unless_unmapped(&GENERATION).map(|address| address.addr())
}

/// The address of the tick, if it is followed.
pub(super) fn tick_address() -> Option<*const AtomicU64> {
    unless_unmapped(&TICK)
}

/// Whether the tick is followed.
pub(crate) fn follows_tick() -> bool {
    tick_address().is_some()
}

/// The tick, if it is followed.
#[inline]
pub(crate) fn tick() -> Option<u64> {
    follows_tick().then(|| TagAddresses::now(SignalAddress::NONE).tick())
}

fn unless_unmapped(place: &AtomicPtr<AtomicU64>) -> Option<*const AtomicU64> {
    let address = place.load(Ordering::Relaxed).cast_const();
    (!core::ptr::eq(address, &UNMAPPED)).then_some(address)
}

/// Sets the address of the generation, which must stay mapped; `None` if there is none.
pub(super) fn set_generation_address(address: Option<*const AtomicU64>) {
    set(&GENERATION, address);
}

/// Sets the address of the tick, which must stay mapped; `None` if there is none.
pub(super) fn set_tick_address(address: Option<*const AtomicU64>) {
    set(&TICK, address);
}

fn set(place: &AtomicPtr<AtomicU64>, address: Option<*const AtomicU64>) {
    let address = address.unwrap_or(&raw const UNMAPPED);
    place.store(address.cast_mut(), Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::Tag;
    use std::collections::HashSet;

    #[test]
    fn no_change_of_one_part_undoes_anothers() {
        let counts = || (0..32).chain([(1 << 24) - 1]);
        // Counts of updates, and clock modes.
        let ticks = || (0..32).flat_map(|count| [0, 3 << 32].map(|mode| mode | count << 1));
        let tags: HashSet<u64> = counts()
            .flat_map(|generation| ticks().map(move |tick| Tag::new(generation, tick, 0).kernel))
            .collect();
        assert_eq!(tags.len(), 33 * 64);
    }
}
