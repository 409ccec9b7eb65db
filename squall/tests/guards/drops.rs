//! The kernel may zero a droppable page at any moment: no zeros, no repeats.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use squall::testing::{events_for_testing, page_address_for_testing};

use crate::Verdict;
use crate::outputs::{Draw, judge};

/// The size of the kernel's pages in bytes, of which squall uses the first 4096.
pub fn page_size() -> usize {
    // SAFETY: sysconf has no preconditions.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as usize }
}

/// Empties this thread's page, so that the next draw seeds it.
pub fn drop_page() {
    let page = page_address_for_testing() as *mut libc::c_void;
    // SAFETY: the page is this thread's own, and made to be dropped at any moment.
    unsafe {
        libc::munlock(page, 4096);
        assert_eq!(libc::madvise(page, 4096, libc::MADV_DONTNEED), 0);
    }
}

/// Drops this thread's page over and over from another thread while `work` runs.
fn drop_page_while<T>(work: impl FnOnce() -> T) -> T {
    squall::u32();
    drop_while(page_address_for_testing(), |_| work())
}

/// Drops a page over and over from another thread while `work` runs, which gets the number of drops.
pub fn drop_while<T>(page: usize, work: impl FnOnce(&AtomicU64) -> T) -> T {
    assert_ne!(page, 0);
    let is_done = &AtomicBool::new(false);
    let drops = &AtomicU64::new(0);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            while !is_done.load(Ordering::Relaxed) {
                // SAFETY: the page is mapped; dropping it is what the kernel may do.
                let status =
                    unsafe { libc::madvise(page as *mut libc::c_void, 4096, libc::MADV_DONTNEED) };
                assert_eq!(status, 0);
                drops.fetch_add(1, Ordering::Relaxed);
                for _ in 0..300 {
                    std::hint::spin_loop();
                }
            }
        });
        let result = work(drops);
        is_done.store(true, Ordering::Relaxed);
        result
    })
}

/// Number of the root's event for a page that was found empty.
const EMPTIED: usize = 5;

/// Looks for repeats and zeros until enough draws have found the page emptied. Where both threads share
/// a CPU, the dropping one only runs when this one yields.
pub fn small() -> Verdict {
    judge_small(1_000, std::thread::yield_now)
}

/// The same until a draw is of zeros: a drop rarely hits the nanosecond between a check and a read, and
/// never if the other thread only runs between two draws.
pub fn small_until_zeros() -> Verdict {
    judge_small(u64::MAX, || ())
}

fn judge_small(enough: u64, between: fn()) -> Verdict {
    judge(drop_page_while(|| {
        let mut draws: Vec<Draw> = Vec::new();
        while events_for_testing()[EMPTIED] < enough && draws.last() != Some(&[0; 16]) {
            draws.extend((0..100).map(|_| squall::array()));
            if let Some(zeros) = draws
                .iter()
                .rev()
                .take(100)
                .position(|draw| *draw == [0; 16])
            {
                draws.truncate(draws.len() - zeros);
            }
            between();
        }
        draws
    }))
}

/// Draws requests that are generated in place and take several generator requests, until enough of them
/// have found their page emptied. An empty page gives the same bytes every time, so the first bytes of
/// each request are compared.
pub fn large() -> Verdict {
    judge_large(1_000, std::thread::yield_now)
}

/// The same until a request repeats: the other thread must run within a request.
pub fn large_until_repeat() -> Verdict {
    judge_large(u64::MAX, || ())
}

fn judge_large(enough: u64, between: fn()) -> Verdict {
    let lens = [257, 1000, 4096, 65_536, 65_537, 200_000];
    drop_page_while(|| {
        let mut draws = Vec::new();
        while events_for_testing()[EMPTIED] < enough {
            for len in lens {
                let mut out = vec![0; len];
                squall::fill(&mut out);
                draws.push(*out.first_chunk().expect("sixteen bytes"));
                between();
            }
            if draws.len().is_multiple_of(600) && matches!(judge(draws.clone()), Verdict::Broken(_))
            {
                break;
            }
        }
        judge(draws)
    })
}
