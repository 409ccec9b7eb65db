//! A pool of getrandom's output in user space, thrown away when the kernel reseeds.
//!
//! Before each request the pool asks whether the kernel's generator has been reseeded. It fetches
//! 32 bytes first, twice as many each time that they are used up, at most a page, and 32 again after
//! a reseed. What it throws away is counted. Its page is wiped in a forked child. The README says how
//! it differs from the proposal's.

use std::cell::Cell;
use std::num::NonZeroU64;
use std::ptr::{self, NonNull};
use std::rc::Rc;
use std::slice;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use rustix::rand::{GetRandomFlags, getrandom};
use squall::hazmat;
use squall_bench::sources::{Draw, Opened, Vdso, fill_by_system_call, in_process};

/// A pool that asks and fetches by the system call, and counts what it throws away in `discarded`.
pub fn over_syscall(discarded: Rc<Cell<u64>>) -> Opened {
    generation()?;
    let ask = || {
        // What it costs to ask: a system call that gives nothing.
        let _ = getrandom(&mut [0; 0], GetRandomFlags::empty());
        hazmat::kernel_generation()
    };
    in_process(Pool::new(ask, fill_by_system_call, discarded)?)
}

/// A pool that asks and fetches by the vDSO.
pub fn over_vdso(discarded: Rc<Cell<u64>>) -> Opened {
    generation()?;
    let mut vdso = Vdso::find()?;
    let fetch = move |out: &mut [u8]| vdso.fill(out);
    in_process(Pool::new(hazmat::kernel_generation, fetch, discarded)?)
}

/// The generation, which a first draw makes known.
fn generation() -> Result<NonZeroU64, String> {
    squall::fill(&mut [0; 2]);
    hazmat::kernel_generation()
        .ok_or("the generation of the kernel's generator is not mapped: see squall status".into())
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
    discarded: Rc<Cell<u64>>,
}

impl<G, F> Pool<G, F>
where
    G: FnMut() -> Option<NonZeroU64>,
    F: FnMut(&mut [u8]),
{
    fn new(ask: G, fetch: F, discarded: Rc<Cell<u64>>) -> Result<Pool<G, F>, String> {
        Ok(Pool {
            page: WipedPage::map()
                .ok_or("no page that is wiped in a child: Linux 4.14 has them")?,
            ask,
            fetch,
            generation: None,
            fetched: 0,
            left: 0,
            discarded,
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
                self.discarded.update(|bytes| bytes + self.left as u64);
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
    use squall_tool_base::measure::fork::fork;

    /// What a test shares with its pool.
    #[derive(Default)]
    struct Shared {
        /// Generations that the pool is told, one after the other; the last again and again.
        generations: Vec<u64>,
        asked: Cell<usize>,
        /// The number of the last fetch, and its length.
        fetch: Cell<(u8, usize)>,
        discarded: Rc<Cell<u64>>,
    }

    /// A pool of bytes that show by which fetch they came.
    fn pool(generations: &[u64]) -> (impl Draw, Rc<Shared>) {
        let shared = Rc::new(Shared {
            generations: generations.into(),
            ..Shared::default()
        });
        let [asking, fetching] = [(); 2].map(|()| Rc::clone(&shared));
        let ask = move || {
            let place = asking.asked.replace(asking.asked.get() + 1);
            let last = asking.generations.last();
            NonZeroU64::new(*asking.generations.get(place).or(last)?)
        };
        let fetch = move |out: &mut [u8]| {
            fetching.fetch.set((fetching.fetch.get().0 + 1, out.len()));
            out.fill(fetching.fetch.get().0);
        };
        let pool = Pool::new(ask, fetch, Rc::clone(&shared.discarded)).unwrap();
        (pool, shared)
    }

    fn take(pool: &mut impl Draw, len: usize) -> Vec<u8> {
        let mut out = vec![0; len];
        pool.fill(&mut out);
        out
    }

    #[test]
    fn fetches_double_and_begin_anew_with_a_generation() {
        // A request asks once, and once more behind a fetch: the third is the first of generation 2.
        let (mut pool, shared) = pool(&[1, 1, 1, 1, 2]);
        assert_eq!(take(&mut pool, 32), [1; 32]);
        assert_eq!(shared.fetch.get(), (1, 32));
        assert_eq!(take(&mut pool, 4), [2; 4]);
        assert_eq!(shared.fetch.get(), (2, 64));
        assert_eq!(take(&mut pool, 4), [3; 4]);
        assert_eq!(shared.fetch.get(), (3, 32));
        assert_eq!(shared.discarded.get(), 60);
        for _ in 0..2000 {
            take(&mut pool, 28);
        }
        assert_eq!(shared.fetch.get().1, CAPACITY);
        assert_eq!(take(&mut pool, CAPACITY + 1).len(), CAPACITY + 1);
        assert_eq!(shared.fetch.get().1, CAPACITY + 1);
    }

    /// A reseed in the middle of a fetch makes it worthless.
    #[test]
    fn a_fetch_across_a_reseed_is_thrown_away() {
        let (mut pool, _) = pool(&[1, 2]);
        assert_eq!(take(&mut pool, 8), [2; 8]);
    }

    #[test]
    fn a_forked_child_fetches_its_own() {
        let (mut pool, _) = pool(&[1]);
        assert_eq!(take(&mut pool, 8), [1; 8]);
        let mut out = [0; 8];
        let child = fork(|| {
            pool.fill(&mut out);
            out == [2; 8]
        });
        child.unwrap().wait().unwrap();
        assert_eq!(take(&mut pool, 8), [1; 8]);
    }
}
