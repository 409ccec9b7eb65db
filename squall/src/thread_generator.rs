//! Serves a thread's requests. A `u32` takes 2 ns, or 10 ns where the cycle counter must be read
//! (docs/records/2026-11-24-bursts.txt).
//!
//! A thread draws from its own page ([`Page`]): generator state and a buffer of keystream.
//! Small requests are taken from the buffer and erased there; larger ones are generated straight
//! into the caller's memory. Either way the bytes leave only if the page's freshness tag is found to be
//! current **after** they were read. If the page was dropped or inherited by a fork, if it is older than
//! a kernel reseed, or if it was restored from a snapshot, the bytes are discarded and drawn again.
//!
//! Where the machine may be cloned before it is notified, a small request also compares the cycle
//! counter with the thread's last reading: in a burst the bytes leave as they are, after a pause with a
//! [pad](request_pad).
//!
//! While it serves a request, the thread holds the [lock](crate::guard::lock) of its page; a signal
//! handler that draws in the middle of a draw finds the lock taken and is served from a new seed. The
//! lock's number is how many bytes of the buffer are left; they are taken from the end.

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
use crate::entropy;
use crate::error::abort;
use crate::failpoint::{self, Failpoint};
use crate::guard::errno;
use crate::guard::freshness;
use crate::guard::lock::HOLDER;
use crate::guard::page::{CAPACITY, Page, Word, read_before_checking};
use crate::guard::policy::Policy;
use crate::guard::stop::Reading;
use crate::guard::thread;
use crate::guard::thread_line::{SMALL, ThreadLine, line};
use crate::per_thread::{ZeroAtStart, per_thread};
pub(crate) use fresh::fill_fresh;
use generator::Generator;
use root::Event;
use squall_drbg::MAX_REQUEST;
use squall_drbg::internal::registers;
use squall_drbg::internal::{in_separate_frame, wipe, wipe_stack_below};
use squall_drbg::{Engine, Stores};

/// First refill after a seeding or a pause, in bytes; each next one is twice as long. So the bytes that a
/// new kernel generation or the next pause discards are in proportion to the bytes that were used.
const FIRST_REFILL: usize = 256;

/// Maximum number of bytes of a refill between two readings of the cycle counter. With AES-NI on an Intel
/// Xeon of 2019 (Cascade Lake) they take half of the gap that rules out a stop.
const REFILL_PIECE: usize = 512;

/// Minimum number of cycles between two refills that become inputs of the root: twenty microseconds
/// on a CPU of 3 GHz, in which a thread refills fifty times. Recording every refill would cost
/// small requests a tenth.
const REFILL_INPUT_INTERVAL: u64 = 0x1_0000;

/// Bytes of stack that generating may leave secrets on: additional input, counters, spilled
/// registers. Debug builds have larger frames, and so has aarch64, whose signal stacks have 16 KiB.
const GENERATING_STACK: usize = if cfg!(target_arch = "aarch64") {
    4
} else if cfg!(debug_assertions) {
    3
} else {
    2
} << 10;

/// Bytes of stack that seeding may leave secrets on: SHA-512 works deeper, and leaves single words there.
/// Rust gives signal handlers 8 KiB, of which the kernel takes up to 3.6 for AVX-512's registers.
const SEEDING_STACK: usize = if cfg!(target_arch = "aarch64") { 10 } else { 7 } << 9;

/// Attempts at a request whose epoch keeps changing. After that it is served by [`fill_fresh`]:
/// somebody is forcing reseeds faster than requests can be served.
const ATTEMPTS: usize = 8;

per_thread! {
    static SLOW_PATH_STATE: SlowPathState
}

/// The slow path's state of a thread; none of it is secret.
struct SlowPathState {
    /// The number of bytes left in the buffer, if comparing the freshness tag is not enough; else 0. The
    /// lock's number is 0 then, which keeps requests off the fast path.
    left_off_fast_path: Cell<usize>,
    /// Length of the next refill, in bytes; each seeding sets it back to [`FIRST_REFILL`].
    refill: Cell<usize>,
    /// The second in which the state was seeded, for machines that do not show the kernel's generation;
    /// 0 before the thread's first seeding.
    seeded_at: Cell<u64>,
    /// The cycle count at the last refill that became an input of the root.
    last_refill_input: Cell<u64>,
    /// Whether the thread is ending and has given its page back.
    has_ended: Cell<bool>,
}

// SAFETY: integers and a boolean, for which zeros are valid and which need no drop.
unsafe impl ZeroAtStart for SlowPathState {}

/// Seedings in this process.
pub(crate) static RESEEDS: AtomicU64 = AtomicU64::new(0);

/// Bytes generated and discarded unused in this process because the epoch had changed, or because the
/// buffer was refilled after a pause.
pub(crate) static DISCARDED: AtomicU64 = AtomicU64::new(0);

/// Passed from the fast path to [`serve`]: the number that taking the lock gave. The lock is still to be
/// released.
struct SlowPath {
    left: usize,
}

/// The use of a request's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestKind {
    /// Bytes that no other clone may get: they may be a key or a nonce.
    Unique,
    /// Numbers for a simulation, which another clone may get too.
    Simulation,
}

/// Fills `out`, or aborts the program.
#[inline(always)]
pub(crate) fn fill(kind: RequestKind, out: &mut [u8]) {
    if let Err(slow_path) = fill_fast(kind, out) {
        serve_or_abort(slow_path, kind, out);
    }
}

#[inline(always)]
pub(crate) fn try_fill(out: &mut [u8]) -> Result<(), Error> {
    fill_fast(RequestKind::Unique, out)
        .or_else(|slow_path| serve(slow_path, RequestKind::Unique, out))
}

/// A random word; aborts the program where [`fill`] does.
#[inline(always)]
pub(crate) fn word<W: Word>(kind: RequestKind) -> W {
    word_fast(kind).unwrap_or_else(|slow_path| word_slowly(slow_path, kind))
}

#[cold]
#[inline(never)]
fn word_slowly<W: Word>(slow_path: SlowPath, kind: RequestKind) -> W {
    let mut bytes = W::default().to_bytes();
    serve_or_abort(slow_path, kind, bytes.as_mut());
    let word = W::from_bytes(&bytes);
    wipe(bytes.as_mut());
    word
}

#[cold]
#[inline(never)]
fn serve_or_abort(slow_path: SlowPath, kind: RequestKind, out: &mut [u8]) {
    if let Err(error) = serve(slow_path, kind, out) {
        abort(error);
    }
}

/// Fills `out` from the buffer, if the fast path can serve it.
#[inline(always)]
fn fill_fast(kind: RequestKind, out: &mut [u8]) -> Result<(), SlowPath> {
    let len = out.len();
    let take = |page: Page, at| {
        page.take(at, out);
        out
    };
    draw(kind, len, take, request_pad::apply).map(drop)
}

/// A random word from the buffer, if the fast path can serve it.
#[inline(always)]
fn word_fast<W: Word>(kind: RequestKind) -> Result<W, SlowPath> {
    draw(
        kind,
        size_of::<W>(),
        Page::take_word,
        request_pad::apply_to_word,
    )
}

/// Creates the thread key whose destructor is [`close`].
pub(crate) fn prepare_threads() {
    thread::prepare(close);
}

/// Makes sure that this process has drawn once.
pub(crate) fn ensure_first_draw() -> Result<(), Error> {
    match RESEEDS.load(Ordering::Relaxed) {
        0 => try_fill(&mut [0]),
        _ => Ok(()),
    }
}

/// Serves a small request: lock, move `len` bytes out of the buffer, check, unlock.
#[inline(always)]
fn draw<T>(
    kind: RequestKind,
    len: usize,
    take: impl FnOnce(Page, usize) -> T,
    pad: impl FnOnce(Page, Reading, T) -> T,
) -> Result<T, SlowPath> {
    let line = line();
    let left = line.lock.lock();
    let Some((page, at)) = line.place(left, len) else {
        return Err(SlowPath { left });
    };
    if failpoint::is_active(Failpoint::SkipReentryLock) {
        line.lock.unlock(left);
    }
    let was_checked_before =
        failpoint::is_active(Failpoint::CheckBeforeRead) && line.is_fresh(page);
    let taken = take(page, at);
    if kind == RequestKind::Unique
        && let Some(now) = line.reading_after_pause()
    {
        return after_pause(now, page, at, taken, pad);
    }
    if !was_checked_before && !line.is_fresh(page) {
        // The bytes taken are erased and lost.
        return Err(SlowPath { left: at });
    }
    line.unlock(at);
    Ok(taken)
}

/// Finishes a small request whose bytes, taken before `now`, need a pad.
#[cold]
#[inline(never)]
fn after_pause<T>(
    now: Reading,
    page: Page,
    at: usize,
    taken: T,
    pad: impl FnOnce(Page, Reading, T) -> T,
) -> Result<T, SlowPath> {
    let line = line();
    let padded = pad(page, now, taken);
    let left = left_after_pause(line, now, at);
    if !line.is_fresh(page) {
        return Err(SlowPath { left });
    }
    line.unlock(left);
    Ok(padded)
}

/// Whether refills should anchor bursts.
fn seeks_bursts(line: &ThreadLine) -> bool {
    line.seeks_bursts() && entropy::has_good_sources()
}

/// How many of `left` bytes stay in the buffer after a request with a pad: none if the next request is
/// to refill the buffer.
fn left_after_pause(line: &ThreadLine, now: Reading, left: usize) -> usize {
    if !line.burst.record_padded(now) || !seeks_bursts(line) {
        return left;
    }
    DISCARDED.fetch_add(left as u64, Ordering::Relaxed);
    SLOW_PATH_STATE.with(|state| state.refill.set(FIRST_REFILL));
    0
}

/// Fills `out`, whatever the state of the thread. Makes system calls, and preserves `errno`.
#[cold]
#[inline(never)]
fn serve(slow_path: SlowPath, kind: RequestKind, out: &mut [u8]) -> Result<(), Error> {
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
    let line = line();
    if left >= HOLDER {
        line.lock.give_up();
        *has_seeded = true;
        return fresh::fill(out);
    }
    SLOW_PATH_STATE.with(|state| {
        let mut request = Request {
            line,
            state,
            policy: Policy::get(),
            left: left + state.left_off_fast_path.replace(0),
            has_seeded,
        };
        let served = request.serve(kind, out);
        let (left, left_off_fast_path) = if request.fast_path_suffices() {
            (request.left, 0)
        } else {
            (0, request.left)
        };
        state.left_off_fast_path.set(left_off_fast_path);
        line.unlock(left);
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
    // `work` does not return its result: the unused bytes of a result would carry along stack contents.
    let mut outcome = Ok(());
    in_separate_frame(|| {
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
    line: &'a ThreadLine,
    state: &'a SlowPathState,
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
            if failpoint::is_active(Failpoint::CheckBeforeRead) || self.is_current(page) {
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
        if let Some(page) = self.line.page() {
            return Some(page);
        }
        if self.state.has_ended.get() || !thread::on_exit(close) {
            return None;
        }
        let page = Page::map().ok()?;
        self.line.set_page(Some(page));
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
        !self.policy.can_see_generation() && self.is_seed_old()
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
    ///
    /// Not inlined, so that a seeding does not have its frame above its own: a first draw must fit
    /// into a signal handler's stack.
    #[inline(never)]
    fn produce(&mut self, page: Page, kind: RequestKind, out: &mut [u8]) {
        self.line.update(&self.policy, page.generation());
        let needs_uniqueness = kind == RequestKind::Unique && self.line.may_be_unnotified_clone();
        if out.len() > SMALL || (needs_uniqueness && !request_pad::is_available()) {
            // Requests of both kinds get input: the generator's output without input would tell one clone
            // the key of another clone that mixes in input.
            let has_input = self.line.may_be_unnotified_clone();
            return generate(page, self.engine(out.len()), out, has_input);
        }
        if !page.is_fresh(freshness::tag_under(page.generation())) {
            self.discard();
            self.state.refill.set(FIRST_REFILL);
        }
        if self.left < out.len() {
            self.refill(page);
        }
        self.left -= out.len();
        page.take(self.left, out);
        if needs_uniqueness && let Some(now) = self.line.reading_after_pause() {
            request_pad::apply(page, now, out);
            self.left = left_after_pause(self.line, now, self.left);
        }
    }

    /// Whether this thread's next small requests may come from the buffer after comparing its
    /// freshness tag, and the cycle counter where that is compared.
    fn fast_path_suffices(&self) -> bool {
        self.policy.tag_suffices()
            && (request_pad::is_available() || !self.line.may_be_unnotified_clone())
    }

    /// Refills the buffer; the few bytes left in it are overwritten.
    fn refill(&mut self, page: Page) {
        let len = self.state.refill.get();
        page.set_freshness_tag(freshness::tag_under(page.generation()));
        // Processes that draw only a few bytes are spared this.
        if len > FIRST_REFILL {
            self.line.find_counter(&self.policy);
        }
        let (cycles, next) = if seeks_bursts(self.line) {
            self.begin_burst(page, len)
        } else {
            self.line.burst.clear_anchor();
            let input = entropy::additional_input::<2>();
            self.generate_buffer(page, len, &input, || ());
            (input[0], 2 * len)
        };
        self.left = len;
        self.state.refill.set(next.clamp(FIRST_REFILL, CAPACITY));
        self.add_refill_input(cycles);
    }

    /// Fills the buffer between readings of the cycle counter. This anchors a burst if no two successive
    /// readings are too far apart. Returns the first count, and the length of the next refill.
    fn begin_burst(&self, page: Page, len: usize) -> (u64, usize) {
        let first = self.line.reading();
        let (mut last, mut is_unbroken) = (first, true);
        let mut read = || {
            let now = self.line.reading();
            is_unbroken &= now.proves_no_stop_since(last);
            last = now;
        };
        // The word is drawn after the first reading. On some CPUs it takes a third of the gap.
        let input = entropy::additional_input_at::<2>(first.count);
        read();
        self.generate_buffer(page, len, &input, &mut read);
        read();
        let is_anchored = is_unbroken && entropy::has_good_sources();
        self.line.burst.record_refill(last, is_anchored);
        (first.count, if is_anchored { 2 * len } else { len / 2 })
    }

    /// Generates the first `len` bytes of the buffer, and calls `between` every [`REFILL_PIECE`] bytes.
    fn generate_buffer(&self, page: Page, len: usize, input: &[u64], between: impl FnMut()) {
        Generator::in_page(page, self.engine(len), |generator| {
            page.with_buffer(len, |buffer| {
                let stores = Stores::Cached;
                generator.generate_in_pieces(buffer, input, stores, REFILL_PIECE, between)
            });
        });
    }

    /// Makes the refill an input of the root, unless the thread's last such input is too recent.
    fn add_refill_input(&self, cycles: u64) {
        if cycles.wrapping_sub(self.state.last_refill_input.get()) >= REFILL_INPUT_INTERVAL {
            self.state.last_refill_input.set(cycles);
            root::add_event(Event::Refill, cycles);
        }
    }

    /// Discards what the buffer still holds.
    fn discard(&mut self) {
        DISCARDED.fetch_add(self.left as u64, Ordering::Relaxed);
        self.left = 0;
    }
}

/// Generates straight into `out`; if it `has_input`, every generator request gets additional input.
fn generate(page: Page, engine: Engine, out: &mut [u8], has_input: bool) {
    let stores = Stores::for_len(out.len());
    Generator::in_page(page, engine, |generator| {
        for part in out.chunks_mut(MAX_REQUEST) {
            if has_input {
                generator.generate(part, &entropy::additional_input::<3>(), stores)
            } else {
                generator.generate(part, &[], stores)
            }
        }
    });
}

/// Wipes the thread's page and gives it back; later requests are served by [`fill_fresh`].
extern "C" fn close(_: *mut c_void) {
    let line = line();
    if line.lock.lock() >= HOLDER {
        // The thread ends in a handler within a draw, so the page is in use and stays.
        return line.lock.give_up();
    }
    SLOW_PATH_STATE.with(|state| {
        state.has_ended.set(true);
        state.left_off_fast_path.set(0);
    });
    let page = line.set_page(None);
    line.unlock(0);
    if let Some(page) = page {
        page.wipe_and_unmap();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CloneGuard, MemoryKind, ReseedGuard};

    /// Whether a request by the slow path tells that it has made a seed, and so has more of the stack wiped.
    fn tells_of_a_seed() -> bool {
        let (left, mut has_seeded) = (line().lock.lock(), false);
        let kind = RequestKind::Unique;
        serve_slowly(SlowPath { left }, kind, &mut [0; 300], &mut has_seeded).unwrap();
        has_seeded
    }

    #[test]
    fn a_request_tells_that_it_has_made_a_seed() {
        let in_thread = |work: fn() -> bool| std::thread::spawn(work).join().unwrap();
        assert!(in_thread(tells_of_a_seed), "a thread's first");
        assert!(in_thread(|| {
            tells_of_a_seed();
            line().lock.lock();
            tells_of_a_seed()
        }));
        assert!(in_thread(|| {
            SLOW_PATH_STATE.with(|state| state.has_ended.set(true));
            tells_of_a_seed()
        }));
        // The control; a reseed may come between two of them.
        assert!(in_thread(|| (0..9).any(|_| !tells_of_a_seed())));
    }

    /// Whether the fast path serves a word, at some point.
    fn is_served_fast() -> bool {
        let draw = |_| match word_fast::<u64>(RequestKind::Simulation) {
            Ok(_) => true,
            Err(slow_path) => {
                serve(slow_path, RequestKind::Simulation, &mut [0; 8]).unwrap();
                false
            }
        };
        // More draws than fit in the buffer: a reseed or a pause may disturb some of them, but not all.
        (0..10_000).any(draw)
    }

    #[test]
    fn the_fast_path_serves_where_one_comparison_suffices() {
        let status = crate::status();
        let suffices = status.reseed_guard == ReseedGuard::MappedGeneration
            && status.memory != MemoryKind::Plain
            && (matches!(
                status.clone_guard,
                CloneGuard::VmClock | CloneGuard::VmgenidPage | CloneGuard::NotAVm
            ) || squall_drbg::internal::can_cache_schedules());
        assert_eq!(is_served_fast(), suffices);
    }
}
