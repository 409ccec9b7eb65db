//! The thread-local memory that a request touches: one cache line.
//!
//! The line holds the lock and the position in the buffer, the page's address, and the addresses of the
//! words that the fast path compares. A request needs no other memory but those words and the page.

use core::cell::Cell;
use core::sync::atomic::AtomicU64;

use super::freshness::TagAddresses;
use super::lock::{HOLDER, Lock};
use super::page::{CAPACITY, Page};
use super::policy::Policy;
use super::signal_address::{Layout, SignalAddress};
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
    /// The addresses of the freshness tag's parts; null before [`ThreadLine::update`].
    generation: Cell<*const AtomicU64>,
    tick: Cell<*const AtomicU64>,
    /// The signal of clones; null if there is none.
    signal: Cell<*const AtomicU64>,
    signal_layout: Cell<Layout>,
    /// Whether unique requests need pads.
    needs_pads: Cell<bool>,
    /// Whether requests need no pads, and compare this CPU's record of kvm-clock or no signal.
    is_simple: Cell<bool>,
}

const _: () = assert!(size_of::<ThreadLine>() <= 64);

// SAFETY: zeros are the number 0, no page, null pointers, a layout and `false`. Nothing in it needs a drop.
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

    /// Copies what requests compare: the addresses, and whether `policy` requires pads.
    pub fn update(&self, policy: &Policy) {
        let addresses = TagAddresses::now(policy.signal_address());
        self.generation.set(addresses.generation);
        self.tick.set(addresses.tick);
        self.signal.set(addresses.signal.first);
        self.signal_layout.set(addresses.signal.layout);
        self.needs_pads.set(policy.may_be_unnoticed_copy());
        self.is_simple
            .set(!self.needs_pads.get() && addresses.signal.is_simple());
    }

    /// Whether a request needs no more than [`is_fresh_if_simple`](Self::is_fresh_if_simple).
    #[inline(always)]
    pub fn is_simple(&self) -> bool {
        self.is_simple.get()
    }

    /// Same as [`is_fresh`](Self::is_fresh), without calls that would make the fast path save registers.
    #[inline(always)]
    pub fn is_fresh_if_simple(&self, page: Page) -> bool {
        page.is_fresh(self.addresses().tag_if_simple())
    }

    /// Whether unique requests need pads, as of the last [`update`](Self::update).
    #[inline(always)]
    pub fn needs_pads(&self) -> bool {
        self.needs_pads.get()
    }

    /// The addresses as of the last [`update`](Self::update).
    #[inline(always)]
    pub fn addresses(&self) -> TagAddresses {
        TagAddresses {
            generation: self.generation.get(),
            tick: self.tick.get(),
            signal: SignalAddress {
                first: self.signal.get(),
                layout: self.signal_layout.get(),
            },
        }
    }

    /// Whether the page's bytes are fresh: generated under the tag that is current now.
    #[inline(always)]
    pub fn is_fresh(&self, page: Page) -> bool {
        // Bytes are left, so `update` has set the addresses.
        page.is_fresh(self.addresses().tag())
    }

    /// Makes the child of a fork begin anew, even if nothing has wiped the page. The fork may have come in the middle of a
    /// draw, in a signal handler.
    pub fn begin_anew_in_child(&self) {
        if self.lock.lock() < HOLDER {
            return self.lock.unlock(0);
        }
        self.lock.give_up();
        if let Some(page) = self.page.get() {
            page.wipe();
        }
    }
}
