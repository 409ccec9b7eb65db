//! Serves a thread's requests, in about a nanosecond each.
//!
//! A thread draws from its own page ([`Page`]): generator state and a buffer of keystream.
//! Small requests are taken from the buffer and erased there; larger ones are generated straight
//! into the caller's memory. Either way the bytes leave only if the page's mark is found to be
//! current **after** they were read: if the page was dropped, inherited by a fork, outlived a kernel
//! reseed or was restored from a snapshot, the bytes are discarded and drawn anew.
//!
//! While it serves a request, the thread holds the [`lock`] of its page; a signal handler that
//! draws in the middle of a draw finds the lock taken and is served from a new seed. The lock's
//! number is how many bytes of the buffer are left; they are taken from the end.

mod fresh;
pub(crate) mod generator;
pub(crate) mod request_pad;
pub(crate) mod root;
mod seeding;
#[cfg(feature = "testing")]
pub(crate) mod testing;

use core::cell::Cell;
use core::ffi::c_void;
use core::sync::atomic::{AtomicU64, Ordering};

use crate::Error;
use crate::drbg::MAX_REQUEST;
use crate::engine::{Engine, Stores, registers};
use crate::entropy;
use crate::failpoint::{self, Failpoint};
use crate::guard::errno;
use crate::guard::freshness;
use crate::guard::lock::{self, HOLDER};
use crate::guard::page::{CAPACITY, Page, Word, read_before_checking};
use crate::guard::policy::{Hedging, Policy};
use crate::guard::thread;
use crate::per_thread::{ZeroAtStart, per_thread};
use crate::secret::{in_frame_of_its_own, wipe_stack_below};
pub(crate) use fresh::fill_fresh;
use generator::Generator;
use root::Event;

/// Longest request served from the buffer, in bytes. Beyond it, generating in place costs less
/// than copying and erasing.
const SMALL: usize = 256;

/// First refill after a seeding, in bytes; each next one is twice as long. What a new kernel
/// generation discards is then in proportion to what was used.
const FIRST_REFILL: usize = 256;

/// Minimum number of cycles between two refills that become inputs of the root: twenty microseconds
/// on a CPU of 3 GHz, in which a thread refills fifty times. Recording every refill would cost
/// small requests a tenth.
const REFILLS_APART: u64 = 0x1_0000;

/// Bytes of stack that generating may leave secrets on: additional input, counters, spilled
/// registers.
const GENERATING_STACK: usize = 2 << 10;

/// Bytes of stack that seeding may leave secrets on: also words of SHA-512's message schedule, from
/// which the seed can be computed. Rust gives signal handlers 8 KiB, of which the kernel takes up to
/// 3.6 for AVX-512's registers.
const SEEDING_STACK: usize = 7 << 9;

/// Attempts at a request whose epoch keeps changing. After that it is served by [`fill_fresh`]:
/// somebody is forcing reseeds faster than requests can be served.
const ATTEMPTS: usize = 8;

per_thread! {
    static PAGE: Cell<Option<Page>>
}

per_thread! {
    static LOCAL: Local
}

/// Per-thread state that is not secret and so lies outside the page.
struct Local {
    /// What the lock's number would be, where comparing the freshness tag is not enough. The number
    /// is 0 then, which keeps requests off the fast path.
    held_back: Cell<usize>,
    /// Length of the next refill, in bytes; set by the seeding before it.
    refill: Cell<usize>,
    /// When the state was seeded, for machines that do not show the kernel's generation; 0 before
    /// the thread's first seeding.
    seeded_at: Cell<u64>,
    /// The cycle count at the last refill that became an input of the root.
    told_at: Cell<u64>,
    /// Whether the thread is ending and has given its page back.
    is_closed: Cell<bool>,
}

// SAFETY: integers and a boolean, for which zeros are valid and which need no drop.
unsafe impl ZeroAtStart for Local {}

/// Seedings in this process.
pub(crate) static RESEEDS: AtomicU64 = AtomicU64::new(0);

/// Bytes generated and discarded unused in this process because the epoch or the tick had changed.
pub(crate) static DISCARDED: AtomicU64 = AtomicU64::new(0);

/// Passed from the fast path to [`serve`]: the number of the lock, which was asked for.
pub(crate) struct SlowPath {
    left: usize,
}

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestKind {
    /// Bytes, which may be a key or a nonce.
    Bytes,
    /// A number, which may repeat in a clone while notification is delayed.
    Number,
}

/// Fills `out` from the buffer, if the fast path can serve it.
#[inline(always)]
pub(crate) fn fill_fast(out: &mut [u8]) -> Result<(), SlowPath> {
    draw(out.len(), |page, at| {
        page.take(at, out);
        request_pad::apply(page, out);
    })
}

/// Fills `out`.
#[inline(always)]
pub(crate) fn try_fill(out: &mut [u8]) -> Result<(), Error> {
    fill_fast(out).or_else(|slow_path| serve(slow_path, RequestKind::Bytes, out))
}

/// A random word from the buffer, if the fast path can serve it.
#[inline(always)]
pub(crate) fn word_fast<W: Word>() -> Result<W, SlowPath> {
    draw(size_of::<W>(), Page::take_word)
}

/// Creates the thread key whose destructor is [`close`].
pub(crate) fn prepare_threads() {
    thread::prepare(close);
}

/// Makes sure that this process has drawn once.
pub(crate) fn prime() -> Result<(), Error> {
    match RESEEDS.load(Ordering::Relaxed) {
        0 => try_fill(&mut [0]),
        _ => Ok(()),
    }
}

/// Serves a small request: lock, move `len` bytes out of the buffer, check, unlock.
#[inline(always)]
fn draw<T>(len: usize, take: impl FnOnce(Page, usize) -> T) -> Result<T, SlowPath> {
    let left = lock::lock();
    // One comparison for `len <= left <= CAPACITY`: an underflow is too large, and so is the number
    // if the lock was not obtained.
    let at = left.wrapping_sub(len);
    if len > SMALL || at > CAPACITY - len {
        return Err(SlowPath { left });
    }
    let Some(page) = PAGE.with(Cell::get) else {
        return Err(SlowPath { left });
    };
    if failpoint::is_off(Failpoint::ReentryLock) {
        lock::unlock(left);
    }
    let is_fresh = || page.is_fresh(freshness::now());
    let was_fresh = failpoint::is_off(Failpoint::Recheck) && is_fresh();
    let taken = take(page, at);
    if !was_fresh && !is_fresh() {
        // The bytes taken are erased and lost.
        return Err(SlowPath { left: at });
    }
    lock::unlock(at);
    Ok(taken)
}

/// Fills `out`, whatever the state of the thread. Makes system calls, and preserves `errno`.
#[cold]
#[inline(never)]
pub(crate) fn serve(slow_path: SlowPath, kind: RequestKind, out: &mut [u8]) -> Result<(), Error> {
    wiping_stack_and_registers(|has_seeded| {
        errno::keep(|| serve_slowly(slow_path, kind, out, has_seeded))
    })
}

fn serve_slowly(
    SlowPath { left }: SlowPath,
    kind: RequestKind,
    out: &mut [u8],
    has_seeded: &mut bool,
) -> Result<(), Error> {
    if left >= HOLDER {
        lock::give_up();
        *has_seeded = true;
        return fresh::fill(out);
    }
    LOCAL.with(|local| {
        let policy = Policy::get();
        let left = left + local.held_back.replace(0);
        let mut request = Request {
            local,
            policy,
            left,
            has_seeded,
        };
        let served = request.serve(kind, out);
        let (left, held_back) = if request.fast_path_suffices() {
            (request.left, 0)
        } else {
            (0, request.left)
        };
        local.held_back.set(held_back);
        lock::unlock(left);
        served
    })
}

/// Runs `work`, which handles secrets, then wipes them from the stack and the registers. `work`
/// reports whether it has made a seed.
fn wiping_stack_and_registers(
    work: impl FnOnce(&mut bool) -> Result<(), Error>,
) -> Result<(), Error> {
    let _clear = registers::clear_on_return();
    let mut has_seeded = false;
    // Not returned by `work`: the unused bytes of a result would carry along stack contents.
    let mut outcome = Ok(());
    in_frame_of_its_own(|| {
        if let Err(error) = work(&mut has_seeded) {
            outcome = Err(error);
        }
    });
    if has_seeded {
        wipe_stack_below::<SEEDING_STACK>();
    } else {
        wipe_stack_below::<GENERATING_STACK>();
    }
    outcome
}

/// A request that holds the lock of its thread's page.
struct Request<'a> {
    local: &'a Local,
    policy: Policy,
    /// Unused bytes of the buffer.
    left: usize,
    /// Whether the request has made a seed.
    has_seeded: &'a mut bool,
}

impl Request<'_> {
    fn serve(&mut self, kind: RequestKind, out: &mut [u8]) -> Result<(), Error> {
        let Some(page) = self.page() else {
            *self.has_seeded = true;
            return fresh::fill(out);
        };
        for _ in 0..ATTEMPTS {
            if !self.is_current(page) || self.is_outdated() {
                self.discard();
                *self.has_seeded = true;
                self.seed(page)?;
            }
            self.produce(page, kind, out);
            if failpoint::is_off(Failpoint::Recheck) || self.is_current(page) {
                return Ok(());
            }
        }
        self.discard();
        *self.has_seeded = true;
        fresh::fill(out)
    }

    /// This thread's page, mapped at the first request; `None` for a thread that is ending, or if
    /// the system has no memory or no thread key.
    fn page(&self) -> Option<Page> {
        if let Some(page) = PAGE.with(Cell::get) {
            return Some(page);
        }
        if self.local.is_closed.get() || !thread::on_exit(close) {
            return None;
        }
        let page = Page::map().ok()?;
        PAGE.with(|own| own.set(Some(page)));
        Some(page)
    }

    /// Whether everything read from the page so far was there and is still unique.
    fn is_current(&self, page: Page) -> bool {
        read_before_checking();
        self.policy
            .epoch(page)
            .is_some_and(|epoch| page.is_current(epoch))
    }

    /// Whether the seed is too old, where the kernel's generation cannot be seen.
    fn is_outdated(&self) -> bool {
        !self.policy.sees_generation() && self.seed_is_old()
    }

    /// The engine for `len` bytes.
    fn engine(&self, len: usize) -> Engine {
        if self.policy.is_provisional() && len <= SMALL {
            generator::first_engine()
        } else {
            generator::engine()
        }
    }

    /// Writes `out`, from the buffer or in place.
    fn produce(&mut self, page: Page, kind: RequestKind, out: &mut [u8]) {
        let is_small = out.len() <= SMALL;
        let is_hedged = match self.policy.hedging(page.generation()) {
            Hedging::None => false,
            Hedging::AllButNumbers => {
                request_pad::begin(&self.policy);
                kind == RequestKind::Bytes && !(is_small && request_pad::is_possible())
            }
            Hedging::All => true,
        };
        if is_hedged || !is_small {
            return generate(page, self.engine(out.len()), out, is_hedged);
        }
        if !page.is_fresh(freshness::under(page.generation())) {
            self.discard();
            self.local.refill.set(FIRST_REFILL);
        }
        if self.left < out.len() {
            self.refill(page);
        }
        self.left -= out.len();
        page.take(self.left, out);
        if kind == RequestKind::Bytes {
            request_pad::apply(page, out);
        }
    }

    /// Whether this thread's next small requests may come from the buffer after one comparison.
    fn fast_path_suffices(&self) -> bool {
        self.policy.tag_suffices()
            && (request_pad::is_possible() || !self.policy.has_delayed_notification())
    }

    /// Refills the buffer; the few bytes left in it are overwritten.
    fn refill(&mut self, page: Page) {
        let len = self.local.refill.get();
        self.local.refill.set((2 * len).min(CAPACITY));
        page.set_freshness_tag(freshness::under(page.generation()));
        let input = entropy::additional_input::<2>();
        self.tell_of_refill(input[0]);
        Generator::in_page(page, self.engine(len), |generator| {
            page.with_buffer(len, |buffer| {
                generator.generate(buffer, &input, Stores::Cached)
            });
        });
        self.left = len;
    }

    /// Makes the refill an input of the root, unless the thread's last such input is too recent.
    fn tell_of_refill(&self, cycles: u64) {
        if cycles.wrapping_sub(self.local.told_at.get()) >= REFILLS_APART {
            self.local.told_at.set(cycles);
            root::tell(Event::Refill, cycles);
        }
    }

    /// Discards what the buffer still holds.
    fn discard(&mut self) {
        DISCARDED.fetch_add(self.left as u64, Ordering::Relaxed);
        self.left = 0;
    }
}

/// Generates straight into `out`; if `hedged`, every generator request gets additional input.
fn generate(page: Page, engine: Engine, out: &mut [u8], hedged: bool) {
    let stores = Stores::for_len(out.len());
    Generator::in_page(page, engine, |generator| {
        for part in out.chunks_mut(MAX_REQUEST) {
            if hedged {
                generator.generate(part, &entropy::additional_input::<3>(), stores)
            } else {
                generator.generate(part, &[], stores)
            }
        }
    });
}

/// Wipes the thread's page and gives it back; later requests are served by [`fill_fresh`].
extern "C" fn close(_: *mut c_void) {
    // Lock not obtained: the thread ends in a handler within a draw, so the page is in use and stays.
    if lock::lock() >= HOLDER {
        return lock::give_up();
    }
    let page = LOCAL.with(|local| {
        local.is_closed.set(true);
        local.held_back.set(0);
        PAGE.with(Cell::take)
    });
    lock::unlock(0);
    if let Some(page) = page {
        page.wipe_and_unmap();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CloneGuard, MemoryKind, ReseedGuard, engine};

    /// Whether the fast path serves a word, at some point.
    fn is_served_fast() -> bool {
        let draw = |_| match word_fast::<u64>() {
            Ok(_) => true,
            Err(slow_path) => {
                serve(slow_path, RequestKind::Number, &mut [0; 8]).unwrap();
                false
            }
        };
        // More than fit in the buffer: a reseed or a tick may disturb some draws, but not each.
        (0..10_000).any(draw)
    }

    #[test]
    fn the_fast_path_serves_where_one_comparison_tells_everything() {
        let status = crate::status();
        let suffices = status.reseed_guard == ReseedGuard::MappedGeneration
            && status.memory != MemoryKind::Plain
            && status.clone_guard != CloneGuard::Hedged
            && (status.clone_guard != CloneGuard::Vmgenid || engine::can_cache_schedules());
        assert_eq!(is_served_fast(), suffices);
    }
}
