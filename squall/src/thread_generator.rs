//! Serves a thread's requests.
//!
//! A thread draws from its own page ([`Page`]): generator state and a buffer of keystream.
//! Small requests are taken from the buffer and erased there; larger ones are generated straight
//! into the caller's memory. Either way the bytes leave only if the page's freshness tag is found to be
//! current **after** they were read. If the page was dropped or inherited by a fork, if it is older than
//! a kernel reseed, or if the machine was restored from a snapshot, the bytes are discarded and drawn again. So they
//! are if the kernel's [tick](crate::guard::tick) has moved on: the state takes additional input then, because the
//! process may have been restored.
//!
//! Where a copy may run before anything shows it, each small request gets a [pad](request_pad).
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

use crate::entropy;
use crate::error::{Error, abort};
use crate::failpoint::{self, Failpoint};
use crate::guard::errno;
use crate::guard::freshness::Tag;
use crate::guard::lock::HOLDER;
use crate::guard::page::{CAPACITY, Page, Word, read_before_checking};
use crate::guard::policy::Policy;
use crate::guard::thread;
use crate::guard::thread_line::{SMALL, ThreadLine, line};
use crate::guard::{fork, process_start, tick};
use crate::per_thread::{ZeroAtStart, per_thread};
pub(crate) use fresh::fill_fresh;
use generator::Generator;
use root::Event;
use squall_drbg::MAX_REQUEST;
use squall_drbg::internal::registers;
use squall_drbg::internal::{in_separate_frame, wipe, wipe_stack_below};
use squall_drbg::{Engine, Stores};

/// First refill after a seeding or a tick, in bytes; each next one is twice as long. So the bytes that a
/// new kernel generation or the next tick discards are in proportion to the bytes that were used.
const FIRST_REFILL: usize = 256;

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

/// Bytes generated and discarded unused in this process because the freshness tag had changed.
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

/// Creates the thread key whose destructor is [`close`], and notices forks.
pub(crate) fn prepare_threads() {
    let _ = watch_forks();
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
    pad: impl FnOnce(Page, T) -> T,
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
    if !line.is_simple() {
        return finish(kind, page, at, taken, pad, was_checked_before);
    }
    if !was_checked_before && !line.is_fresh_if_simple(page) {
        // The bytes taken are erased and lost.
        return Err(SlowPath { left: at });
    }
    line.unlock(at);
    Ok(taken)
}

/// Finishes a small request on machines where it takes more than one comparison.
#[inline(never)]
fn finish<T>(
    kind: RequestKind,
    page: Page,
    at: usize,
    mut taken: T,
    pad: impl FnOnce(Page, T) -> T,
    was_checked_before: bool,
) -> Result<T, SlowPath> {
    let line = line();
    if kind == RequestKind::Unique && line.needs_pads() {
        taken = pad(page, taken);
    }
    if !was_checked_before && !line.is_fresh(page) {
        return Err(SlowPath { left: at });
    }
    line.unlock(at);
    Ok(taken)
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
            has_new_tag: false,
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
    /// Whether the page has got its tag in this attempt. Otherwise the tag alone shows that nothing has changed since it was
    /// last found to be current.
    has_new_tag: bool,
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
            self.line.update(&self.policy);
            let was_fresh = self.policy.tag_suffices()
                && page.is_of_process(fork::mark())
                && self.line.is_fresh(page);
            if !was_fresh && (!self.is_current(page) || self.is_outdated()) {
                self.discard();
                *self.has_seeded = true;
                self.seed(page)?;
                // The first seeding finds the generation's address.
                self.line.update(&self.policy);
            }
            self.has_new_tag = !was_fresh;
            let may_be_served = self.produce(page, kind, out);
            let is_unchanged = !self.has_new_tag && self.line.is_fresh(page);
            // The epoch has no tick: it does not show a process that was restored since the bytes were made.
            let epoch_suffices = may_be_served && (self.has_new_tag || out.len() > SMALL);
            if failpoint::is_active(Failpoint::CheckBeforeRead)
                || is_unchanged
                || (epoch_suffices && self.is_current(page))
            {
                return Ok(());
            }
            // Its tag may be newer than the state: the next attempt must not take it for a proof.
            page.forget_freshness_tag();
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
        // Without memory for it, the kernel's wipe on fork or the process id tells.
        let _ = watch_forks();
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

    /// Writes `out`, from the buffer or in place. False if the bytes may have been made before this process was
    /// restored.
    ///
    /// Not inlined, so that a seeding does not have its frame above its own: a first draw must fit
    /// into a signal handler's stack.
    #[inline(never)]
    fn produce(&mut self, page: Page, kind: RequestKind, out: &mut [u8]) -> bool {
        let needs_pad = kind == RequestKind::Unique && self.line.needs_pads();
        if out.len() > SMALL || (needs_pad && !request_pad::is_available()) {
            self.generate(page, out);
            return true;
        }
        self.begin_tick(page);
        let needs_pad = kind == RequestKind::Unique && self.line.needs_pads();
        if self.left < out.len() {
            self.refill(page);
        }
        self.left -= out.len();
        page.take(self.left, out);
        if needs_pad {
            request_pad::apply(page, out);
        }
        page.is_fresh(self.tag(page))
    }

    /// The current tag, with the generation under which the page was seeded.
    fn tag(&self, page: Page) -> Tag {
        self.line.addresses().tag_under(page.generation())
    }

    /// Discards the buffer if the tag under which the state was last used is over. Returns whether it is: the state must
    /// then take additional input before it is used.
    fn begin_tick(&mut self, page: Page) -> bool {
        if page.is_fresh(self.tag(page)) {
            return false;
        }
        // The policy of a first request does without.
        if !self.policy.is_provisional() {
            tick::follow();
        }
        self.line.update(&self.policy);
        self.discard();
        self.state.refill.set(FIRST_REFILL);
        page.set_freshness_tag(self.tag(page));
        self.has_new_tag = true;
        true
    }

    /// Whether this thread's next small requests may come from the buffer after comparing its
    /// freshness tag.
    fn fast_path_suffices(&self) -> bool {
        self.policy.tag_suffices() && (request_pad::is_available() || !self.line.needs_pads())
    }

    /// Refills the buffer, which is empty or too short for the request: the few bytes left in it are overwritten.
    fn refill(&mut self, page: Page) {
        let len = self.state.refill.get();
        let input = entropy::additional_input::<2>();
        Generator::in_page(page, self.engine(len), |generator| {
            page.with_buffer(len, |buffer| {
                generator.generate(buffer, &input, Stores::Cached)
            });
        });
        self.left = len;
        self.state.refill.set((2 * len).min(CAPACITY));
        self.add_refill_input(input[0]);
    }

    /// Generates straight into `out`.
    ///
    /// Requests of both kinds get input where a copy may be unnoticed: the generator's output without input would tell one
    /// copy the key of another that mixes in input.
    fn generate(&mut self, page: Page, out: &mut [u8]) {
        let stores = Stores::for_len(out.len());
        let engine = self.engine(out.len());
        Generator::in_page(page, engine, |generator| {
            for part in out.chunks_mut(MAX_REQUEST) {
                // If the tick moves on, the part is generated once more: the process may have been restored meanwhile.
                // Once is enough, and a slow machine gets no further.
                for _ in 0..2 {
                    if self.begin_tick(page) || self.policy.needs_input() {
                        generator.generate(part, &entropy::additional_input::<3>(), stores);
                    } else {
                        generator.generate(part, &[], stores);
                    }
                    if page.is_fresh(self.tag(page)) {
                        break;
                    }
                }
            }
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

/// Notices forks that the C library makes.
pub fn watch_forks() -> std::io::Result<()> {
    fork::watch(process_start::before_fork, begin_anew_in_child)
}

extern "C" fn begin_anew_in_child() {
    if failpoint::is_active(Failpoint::SkipForkGuard) {
        return;
    }
    fork::count_one();
    process_start::begin_in_child();
    line().begin_anew_in_child();
    SLOW_PATH_STATE.with(|state| state.left_off_fast_path.set(0));
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
    use crate::{MemoryKind, ReseedGuard};

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
        // More draws than fit in the buffer: a reseed or a tick may disturb some of them, but not all.
        (0..10_000).any(draw)
    }

    #[test]
    fn the_fast_path_serves_where_one_comparison_suffices() {
        let status = crate::status();
        let suffices = status.reseed_guard == ReseedGuard::MappedGeneration
            && status.memory != MemoryKind::Plain
            && (status.clone_guard.is_immediate() || squall_drbg::internal::can_cache_schedules());
        assert_eq!(is_served_fast(), suffices);
    }
}
