//! `BufferedSimulationRng`: numbers for simulations from a page of their holder's own.
//!
//! The page holds a buffer and the freshness tag under which it was filled. As in a
//! [thread's generator](crate::thread_generator), a number leaves only if the tag is found to be current
//! **after** it was read.

use crate::failpoint::{self, Failpoint};
use crate::guard::freshness::TagAddresses;
use crate::guard::page::{CAPACITY, Page, Word};
use crate::guard::policy::Policy;
use crate::thread_generator::{self, RequestKind};

/// Numbers for simulations, sampling and jitter, from a buffer of 3584 bytes that belongs to this value:
/// the fastest generator here for many numbers in a row.
///
/// Like [`SimulationRng`](crate::SimulationRng), it **may repeat in a VM clone**, so do not use it for
/// keys, nonces, tokens or identifiers. It finds its buffer without looking for the thread's, which saves
/// most where squall is part of a shared library. The buffer is a page of guarded memory, mapped with
/// the first number and wiped on drop.
///
/// Infallible: without any source of randomness it aborts the program, as [`fill`](crate::fill) does.
///
/// # Security
/// The numbers are bytes of the thread's generator, and are erased when they are served.
///
/// # Forks and clones
/// After a fork the child's buffer is empty, and a reseed of the kernel's RNG empties it too. Where clones
/// are noticed late or not at all (see [`CloneGuard`](crate::CloneGuard)), two clones may get the same
/// numbers until they are notified, or until this buffer is used up.
///
/// ```
/// use rand_core::Rng as _;
/// let mut rng = squall::BufferedSimulationRng::new();
/// let heads = (0..1000).filter(|_| rng.next_u32() % 2 == 1).count();
/// # assert!(heads > 0);
/// ```
#[derive(Debug, Default)]
pub struct BufferedSimulationRng {
    /// `None` before the first number.
    buffer: Option<Buffer>,
    /// Unused bytes of the buffer; they are taken from the end. 0 as long as there is none.
    left: usize,
}

#[derive(Clone, Copy, Debug)]
struct Buffer {
    page: Page,
    /// Of the tag under which it was filled.
    addresses: TagAddresses,
}

// SAFETY: the page is memory like any other, which is mapped until the drop, and only reached through
// this value. The state of the vDSO in it, which belongs to one thread, is not used.
unsafe impl Send for BufferedSimulationRng {}

/// Attempts to serve a number from the buffer while the tag keeps changing.
const ATTEMPTS: usize = 8;

impl BufferedSimulationRng {
    /// A generator without a buffer, which the first number maps and fills.
    pub const fn new() -> Self {
        BufferedSimulationRng {
            buffer: None,
            left: 0,
        }
    }

    #[inline(always)]
    pub(crate) fn word<W: Word>(&mut self) -> W {
        self.buffered().unwrap_or_else(|| self.word_slowly())
    }

    /// A number from the buffer, if there is one left that is still fresh.
    #[inline(always)]
    fn buffered<W: Word>(&mut self) -> Option<W> {
        // An underflow gives a number that is too large.
        let at = self.left.wrapping_sub(size_of::<W>());
        if at >= CAPACITY {
            return None;
        }
        self.left = at;
        let Buffer { page, addresses } = self.buffer?;
        let is_fresh = || page.is_fresh(addresses.tag());
        let was_checked_before = failpoint::is_active(Failpoint::CheckBeforeRead) && is_fresh();
        let word = page.take_word(at);
        (was_checked_before || is_fresh()).then_some(word)
    }

    /// A number from a new buffer, or from the thread's generator.
    #[cold]
    #[inline(never)]
    fn word_slowly<W: Word>(&mut self) -> W {
        for _ in 0..ATTEMPTS {
            if !self.refill() {
                break;
            }
            if let Some(word) = self.buffered() {
                return word;
            }
        }
        thread_generator::word(RequestKind::Simulation)
    }

    /// Fills the buffer; `false` if comparing the tag is not enough to tell whether it may be used, or if
    /// there is no memory.
    fn refill(&mut self) -> bool {
        let policy = Policy::get();
        if !policy.tag_suffices() {
            return false;
        }
        let mapped = self.buffer.map_or_else(Page::map, |buffer| Ok(buffer.page));
        let Ok(page) = mapped else { return false };
        let addresses = TagAddresses::now(policy.signal_address());
        self.buffer = Some(Buffer { page, addresses });
        // Before the bytes are generated: what happens meanwhile makes them stale.
        page.set_freshness_tag(addresses.tag());
        page.with_buffer(CAPACITY, |buffer| {
            thread_generator::fill(RequestKind::Simulation, buffer);
        });
        self.left = CAPACITY;
        true
    }

    /// The page's address, for tests that drop it; 0 before the first number.
    #[cfg(feature = "testing")]
    #[doc(hidden)]
    pub fn page_address(&self) -> usize {
        self.buffer.map_or(0, |buffer| buffer.page.address())
    }
}

impl Drop for BufferedSimulationRng {
    fn drop(&mut self) {
        if let Some(Buffer { page, .. }) = self.buffer {
            page.wipe_and_unmap();
        }
    }
}
