//! The thread-local memory that a request touches: one cache line.
//!
//! The line holds the lock and the position in the buffer, the page's address, and the addresses of the
//! words that the fast path compares. A request needs no other memory but those words and the page.

use core::cell::Cell;
use core::sync::atomic::AtomicU64;

use super::burst::Burst;
use super::freshness::{self, TagAddresses};
use super::lock::Lock;
use super::page::{CAPACITY, Page};
use super::policy::Policy;
use super::signal_address::SignalAddress;
use super::stop::{CounterMethod, Reading};
use crate::cycle_counter;
use crate::per_thread::{ZeroAtStart, per_thread};

/// Longest request served from the buffer, in bytes. Beyond it, generating in place costs less
/// than copying and erasing.
pub(crate) const SMALL: usize = 256;

/// The line. All zeros: a thread that has not drawn yet.
///
/// In the shared libraries on aarch64 it may span two cache lines: when a program that is running loads a
/// library, the reserve of glibc has no room for variables aligned to more than 16 bytes (2.42,
/// elf/dl-reloc.c and TCB_ALIGNMENT).
#[cfg_attr(
    not(all(feature = "shared-library", target_arch = "aarch64")),
    repr(C, align(64))
)]
#[cfg_attr(
    all(feature = "shared-library", target_arch = "aarch64"),
    repr(C, align(16))
)]
pub(crate) struct ThreadLine {
    /// The lock's number is how many bytes of the buffer are left: 0 as long as there is no page.
    pub lock: Lock,
    page: Cell<Option<Page>>,
    /// The address of the kernel's generation; null before [`ThreadLine::update`].
    generation: Cell<*const AtomicU64>,
    /// The address of the signal of clones; null if there is none.
    signal: Cell<*const AtomicU64>,
    pub burst: Burst,
    /// Bytes from the signal's first word to its last.
    signal_to_last: Cell<u16>,
    counter: Cell<CounterMethod>,
    /// Whether this may be a clone that has not been notified.
    may_be_unnotified_clone: Cell<bool>,
}

const _: () = assert!(size_of::<ThreadLine>() == 64);

// SAFETY: zeros are the number 0, no page, null pointers, `CounterMethod::None` and `false`. Nothing in it
// needs a drop.
unsafe impl ZeroAtStart for ThreadLine {}

per_thread! {
    static LINE: ThreadLine
}

/// This thread's line.
#[inline(always)]
pub(crate) fn line() -> &'static ThreadLine {
    // SAFETY: the line lives as long as its thread, and only its thread can have the reference: it is
    // not `Sync`.
    unsafe { &*LINE.with(core::ptr::from_ref) }
}

impl ThreadLine {
    /// The page, and the position in its buffer from which a request of `len` bytes is served. `left` is
    /// the number that the lock gave. `None` if too few bytes are left, if the request is empty or too
    /// long, and if the lock was not obtained.
    #[inline(always)]
    pub fn place(&self, left: usize, len: usize) -> Option<(Page, usize)> {
        // An underflow gives a number that is too large, as does a lock that was not obtained.
        let at = left.wrapping_sub(len);
        if len.wrapping_sub(1) >= SMALL || at >= CAPACITY {
            return None;
        }
        debug_assert!(self.page.get().is_some());
        // SAFETY: some bytes are left, so there is a page: `unlock` asserts it.
        Some((unsafe { self.page.get().unwrap_unchecked() }, at))
    }

    /// Releases the lock with `left` bytes in the buffer.
    #[inline(always)]
    pub fn unlock(&self, left: usize) {
        debug_assert!(left == 0 || (left <= CAPACITY && self.page.get().is_some()));
        self.lock.unlock(left);
    }

    /// The thread's page.
    #[inline]
    pub fn page(&self) -> Option<Page> {
        self.page.get()
    }

    /// Sets the thread's page, or takes it away. The caller holds the lock.
    pub fn set_page(&self, page: Option<Page>) -> Option<Page> {
        self.page.replace(page)
    }

    /// Copies what requests compare: the addresses, and whether `policy` requires comparing the cycle
    /// counter under the kernel's `generation`.
    pub fn update(&self, policy: &Policy, generation: u64) {
        self.generation.set(freshness::generation_address());
        let signal = freshness::signal_address();
        self.signal.set(signal.first);
        self.signal_to_last.set(signal.to_last);
        self.counter.set(CounterMethod::already_found());
        self.may_be_unnotified_clone
            .set(policy.may_be_unnotified_clone(generation));
    }

    /// Whether this may be a clone that has not been notified, as of the last [`update`](Self::update).
    #[inline(always)]
    pub fn may_be_unnotified_clone(&self) -> bool {
        self.may_be_unnotified_clone.get()
    }

    /// Finds out how the cycle counter is read, if the machine is a VM that may be cloned before it is
    /// notified.
    pub fn find_counter(&self, policy: &Policy) {
        if policy.is_vm && self.may_be_unnotified_clone.get() {
            self.counter.set(CounterMethod::find());
        }
    }

    /// Stops reading the cycle counter: in this thread now, in the others at their next refill.
    pub fn avoid_counter(&self) {
        cycle_counter::avoid();
        CounterMethod::avoid();
        self.counter.set(CounterMethod::None);
    }

    /// Whether bursts would save pads here, and the cycle counter shows them.
    pub fn seeks_bursts(&self) -> bool {
        self.may_be_unnotified_clone.get() && self.counter.get() != CounterMethod::None
    }

    /// Whether the page's bytes are fresh: generated under the tag that is current now.
    #[inline(always)]
    pub fn is_fresh(&self, page: Page) -> bool {
        // Bytes are left, so `update` has set the addresses.
        let addresses = TagAddresses {
            generation: self.generation.get(),
            signal: SignalAddress {
                first: self.signal.get(),
                to_last: self.signal_to_last.get(),
            },
        };
        page.is_fresh(addresses.tag())
    }

    /// The cycle counter, read after the bytes of a request, if a clone's buffer may have the same bytes;
    /// `None` if there can be no such clone, or the request continues a burst.
    #[inline(always)]
    pub fn reading_after_pause(&self) -> Option<Reading> {
        if !self.may_be_unnotified_clone.get() {
            return None;
        }
        let now = self.reading();
        (!self.burst.continues(now)).then_some(now)
    }

    /// Reads the cycle counter by the method that was found for this machine.
    #[inline(always)]
    pub fn reading(&self) -> Reading {
        Reading::now(self.counter.get())
    }
}
