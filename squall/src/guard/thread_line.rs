//! What a thread's requests touch: one cache line of thread-local memory.
//!
//! It has the lock and the position in the buffer, the page's address, and where the words are that
//! the fast path compares, so that a request needs no other memory but those words and the page.

use core::cell::Cell;
use core::sync::atomic::{AtomicU64, Ordering};

use super::burst::Burst;
use super::clone_signal::Place;
use super::freshness;
use super::lock::Lock;
use super::page::{CAPACITY, Page};
use super::policy::Policy;
use super::stop::{Counter, Reading};
use crate::per_thread::{ZeroAtStart, per_thread};

/// Longest request served from the buffer, in bytes. Beyond it, generating in place costs less
/// than copying and erasing.
pub(crate) const SMALL: usize = 256;

/// The line. All zeros: a thread that has not drawn yet.
///
/// On aarch64 it may lie in two lines of the cache: glibc has no room for variables of more than 16 bytes'
/// alignment in libraries that are loaded late (2.42, elf/dl-reloc.c and TCB_ALIGNMENT).
#[cfg_attr(
    not(all(feature = "shared-library", target_arch = "aarch64")),
    repr(C, align(64))
)]
#[cfg_attr(
    all(feature = "shared-library", target_arch = "aarch64"),
    repr(C, align(16))
)]
pub(crate) struct ThreadLine {
    /// Its number is how many bytes of the buffer are left: 0 as long as there is no page.
    pub lock: Lock,
    page: Cell<Option<Page>>,
    /// The place of the kernel's generation; null before [`ThreadLine::adopt`].
    generation: Cell<*const AtomicU64>,
    /// The place of the signal of clones; null if there is none.
    signal: Cell<*const AtomicU64>,
    pub burst: Burst,
    /// Bytes from the signal's first word to its last.
    signal_to_last: Cell<u16>,
    counter: Cell<Counter>,
    /// Whether the machine may be cloned before it is notified.
    may_be_cloned_unseen: Cell<bool>,
}

const _: () = assert!(size_of::<ThreadLine>() == 64);

// SAFETY: zeros are the number 0, no page, null pointers, `Counter::None` and `false`. Nothing in it
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
    /// Where in the buffer a request of `len` bytes is served, if `left` of them are: the number that
    /// the lock gave. `None` if too few are left, if the request is empty or too long, and if the lock
    /// was not obtained.
    #[inline(always)]
    pub fn place(&self, left: usize, len: usize) -> Option<(Page, usize)> {
        // An underflow is too large, and so is the number of a lock that was not obtained.
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

    /// Takes over what `policy` says is to be compared, under the kernel's `generation`.
    pub fn adopt(&self, policy: &Policy, generation: u64) {
        self.generation.set(freshness::generation_place());
        let signal = freshness::signal_place();
        self.signal.set(signal.first);
        self.signal_to_last.set(signal.to_last);
        self.counter.set(Counter::if_found());
        self.may_be_cloned_unseen
            .set(policy.may_be_cloned_unseen(generation));
    }

    /// Whether this machine may have been cloned without anything having told yet, by what the line
    /// has adopted.
    #[inline(always)]
    pub fn may_be_cloned_unseen(&self) -> bool {
        self.may_be_cloned_unseen.get()
    }

    /// Finds out how the cycle counter is read, if the machine is a VM that may be cloned unseen.
    pub fn find_counter(&self, policy: &Policy) {
        if policy.is_vm && self.may_be_cloned_unseen.get() {
            self.counter.set(Counter::find());
        }
    }

    /// Whether bursts are of use, and the cycle counter shows them.
    pub fn seeks_bursts(&self) -> bool {
        self.may_be_cloned_unseen.get() && self.counter.get() != Counter::None
    }

    /// Whether the page's bytes are fresh: the tag is the one they were made under.
    #[inline(always)]
    pub fn is_fresh(&self, page: Page) -> bool {
        // SAFETY: bytes are left, so `adopt` has set the place, which stays mapped.
        let generation = unsafe { (*self.generation.get()).load(Ordering::Relaxed) };
        let generation = freshness::unless_frozen(generation);
        let signal = Place {
            first: self.signal.get(),
            to_last: self.signal_to_last.get(),
        };
        let tag = if signal.first.is_null() {
            generation
        } else {
            // SAFETY: as above.
            freshness::combined(generation, unsafe { signal.read() })
        };
        page.is_fresh(tag)
    }

    /// The cycle counter, read behind the bytes of a request, if they may be in a clone's buffer too
    /// and no burst tells that they are not.
    #[inline(always)]
    pub fn reading_after_pause(&self) -> Option<Reading> {
        if !self.may_be_cloned_unseen.get() {
            return None;
        }
        let now = self.reading();
        (!self.burst.goes_on(now)).then_some(now)
    }

    /// Reads the cycle counter, as this machine lets it be read.
    #[inline(always)]
    pub fn reading(&self) -> Reading {
        Reading::now(self.counter.get())
    }
}
