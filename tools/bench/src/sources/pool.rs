//! A pool of getrandom's output in user space, thrown away when the kernel reseeds, as the proposal
//! of a vDSO getrandom had it: Y. Droneaud, "random: a simple vDSO mechanism for reseeding userspace
//! CSPRNGs", RFC to linux-kernel, January 2023.
//!
//! Before each request the pool asks whether the kernel's generator has been reseeded. It fetches
//! 32 bytes first, twice as many each time that they are used up, at most a page, and 32 again after
//! a reseed. What it throws away is counted. Its page is wiped in a forked child.
//!
//! The proposal's flag that asked (GRND_TIMESTAMP) never came. Here the generation in the vDSO's
//! data answers in its place. Asking by a system call is a getrandom(2) of no bytes, which costs
//! what it would have cost. Unlike the proposal's program, which only counted bytes, this one hands
//! them out and erases them.

use std::cell::Cell;
use std::num::NonZeroU64;
use std::ptr::{self, NonNull};
use std::slice;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use squall::hazmat;

use super::kernel::{self, Vdso, fill_by_system_call};
use super::{Entry, Opened, in_process};
use crate::report::model::Group;
use crate::source::Draw;

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        name: "pool-syscall",
        title: "pool over the system call",
        explained: "a pool of at most 4 KiB of getrandom(2)'s output, which asks the kernel by a \
                    system call before each request (the proposal of a vDSO getrandom, 2023)",
        open: over_syscall,
        ..POOL
    },
    Entry {
        name: "pool-vdso",
        title: "pool over the vDSO",
        explained: "a pool of at most 4 KiB of the vDSO getrandom's output, thrown away when the \
                    generation in the vDSO's data changes (the proposal of a vDSO getrandom, 2023)",
        open: over_vdso,
        ..POOL
    },
];

const POOL: Entry = Entry {
    group: Group::Kernel,
    secure: true,
    caveat: "an experiment: not for signal handlers",
    open: over_syscall,
    ..Entry::DEFAULT
};

fn over_syscall() -> Opened {
    generation()?;
    let ask = || {
        kernel::ask();
        hazmat::kernel_generation()
    };
    in_process(Pool::new(ask, fill_by_system_call)?)
}

fn over_vdso() -> Opened {
    generation()?;
    let mut vdso = Vdso::find()?;
    in_process(Pool::new(
        hazmat::kernel_generation,
        move |out: &mut [u8]| vdso.fill(out),
    )?)
}

/// The generation, which a first draw makes known.
fn generation() -> Result<NonZeroU64, String> {
    squall::fill(&mut [0; 2]);
    hazmat::kernel_generation()
        .ok_or("the generation of the kernel's generator is not mapped: see squall status".into())
}

thread_local! {
    static DISCARDED: Cell<u64> = const { Cell::new(0) };
}

/// Bytes that pools of this thread threw away unused so far.
pub(super) fn discarded() -> u64 {
    DISCARDED.get()
}

/// Bytes of the page before those of the pool: whether the page was wiped.
const MARK: usize = 8;
const PAGE: usize = 4096;
const CAPACITY: usize = PAGE - MARK;

/// Bytes of the first fetch, and of the first after a reseed.
const FIRST_FETCH: usize = 32;

struct Pool<G, F> {
    page: WipedPage,
    ask: G,
    fetch: F,
    generation: Option<NonZeroU64>,
    fetched: usize,
    /// Unused bytes, which are the first of the pool.
    left: usize,
}

impl<G, F> Pool<G, F>
where
    G: FnMut() -> Option<NonZeroU64>,
    F: FnMut(&mut [u8]),
{
    fn new(ask: G, fetch: F) -> Result<Pool<G, F>, String> {
        Ok(Pool {
            page: WipedPage::map()
                .ok_or("no page that is wiped in a child: Linux 4.14 has them")?,
            ask,
            fetch,
            generation: None,
            fetched: 0,
            left: 0,
        })
    }

    /// Ensures that `len` bytes of the current generation are buffered.
    #[inline]
    fn ensure(&mut self, len: usize) {
        let generation = (self.ask)();
        let is_current = generation == self.generation && self.page.bytes()[0] != 0;
        if !(is_current && len <= self.left) {
            self.refill(len, is_current, generation);
        }
    }

    #[cold]
    fn refill(&mut self, len: usize, was_current: bool, mut generation: Option<NonZeroU64>) {
        let doubled = if was_current { 2 * self.fetched } else { 0 };
        let mut fetched = doubled.clamp(FIRST_FETCH, CAPACITY).max(len);
        // What is too little for a request that is current is no loss to a reseed.
        let mut is_stale = !was_current;
        loop {
            if is_stale {
                DISCARDED.set(DISCARDED.get() + self.left as u64);
            }
            let page = self.page.bytes();
            page[0] = 1;
            (self.fetch)(&mut page[MARK..MARK + fetched]);
            self.left = fetched;
            self.fetched = fetched;
            let after = (self.ask)();
            if after == generation {
                self.generation = after;
                return;
            }
            generation = after;
            is_stale = true;
            fetched = FIRST_FETCH.max(len);
        }
    }
}

impl<G, F> Draw for Pool<G, F>
where
    G: FnMut() -> Option<NonZeroU64>,
    F: FnMut(&mut [u8]),
{
    /// More than the pool holds comes from the kernel at once.
    #[inline]
    fn fill(&mut self, out: &mut [u8]) {
        if out.len() > CAPACITY {
            return (self.fetch)(out);
        }
        self.ensure(out.len());
        self.left -= out.len();
        let from = MARK + self.left;
        let taken = &mut self.page.bytes()[from..from + out.len()];
        out.copy_from_slice(taken);
        taken.fill(0);
    }
}

/// A page that a forked child finds zeroed.
struct WipedPage(NonNull<u8>);

impl WipedPage {
    fn map() -> Option<WipedPage> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: an anonymous mapping at an address of the kernel's choice, and advice about it.
        unsafe {
            let page = mmap_anonymous(ptr::null_mut(), PAGE, protection, MapFlags::PRIVATE).ok()?;
            let wiped = WipedPage(NonNull::new(page.cast())?);
            madvise(page, PAGE, Advice::LinuxWipeOnFork).ok()?;
            Some(wiped)
        }
    }

    #[inline]
    fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: the page is mapped, readable and writable while its owner is there, and lent
        // once at a time.
        unsafe { slice::from_raw_parts_mut(self.0.as_ptr(), PAGE) }
    }
}

impl Drop for WipedPage {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this length, and goes with its owner.
        let _ = unsafe { munmap(self.0.as_ptr().cast(), PAGE) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::rc::Rc;

    type Fetches = Rc<Cell<(u8, usize)>>;

    /// A pool of bytes that show by which fetch they came, and its generation to change.
    fn pool() -> (impl Draw, Rc<Cell<u64>>, Fetches) {
        let generation = Rc::new(Cell::new(1));
        let fetches = Fetches::default();
        let (read, count) = (generation.clone(), fetches.clone());
        let pool = Pool::new(
            move || NonZeroU64::new(read.get()),
            move |out: &mut [u8]| {
                count.set((count.get().0 + 1, out.len()));
                out.fill(count.get().0);
            },
        );
        (pool.unwrap(), generation, fetches)
    }

    fn take(pool: &mut impl Draw, len: usize) -> Vec<u8> {
        let mut out = vec![0; len];
        pool.fill(&mut out);
        out
    }

    #[test]
    fn fetches_double_and_begin_anew_with_a_generation() {
        let (mut pool, generation, fetches) = pool();
        let before = discarded();
        assert_eq!(take(&mut pool, 32), [1; 32]);
        assert_eq!(fetches.get(), (1, 32));
        assert_eq!(take(&mut pool, 4), [2; 4]);
        assert_eq!(fetches.get(), (2, 64));
        generation.set(2);
        assert_eq!(take(&mut pool, 4), [3; 4]);
        assert_eq!(fetches.get(), (3, 32));
        assert_eq!(discarded() - before, 60);
        for _ in 0..2000 {
            take(&mut pool, 28);
        }
        assert_eq!(fetches.get().1, CAPACITY);
        assert_eq!(take(&mut pool, CAPACITY + 1).len(), CAPACITY + 1);
        assert_eq!(fetches.get().1, CAPACITY + 1);
    }

    /// A reseed in the middle of a fetch makes it worthless.
    #[test]
    fn a_fetch_across_a_reseed_is_thrown_away() {
        let answers = Rc::new(Cell::new(0));
        let asked = answers.clone();
        let mut fetched = 0;
        let mut pool = Pool::new(
            move || {
                asked.set(asked.get() + 1);
                NonZeroU64::new(if asked.get() == 1 { 1 } else { 2 })
            },
            move |out: &mut [u8]| {
                fetched += 1;
                out.fill(fetched);
            },
        )
        .unwrap();
        assert_eq!(take(&mut pool, 8), [2; 8]);
    }
}
