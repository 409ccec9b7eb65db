//! The kernel may zero a droppable page at any moment: no zeros, no repeats.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use squall::Engine;
use squall::hazmat::{Aes256, Keystream, Stores};
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
    let page = page_address_for_testing();
    unlock(page);
    drop_at(page);
}

/// Takes back mlock(2), which squall calls before Linux 6.11: a locked page cannot be dropped.
fn unlock(page: usize) {
    // SAFETY: unlocking changes no contents.
    unsafe { libc::munlock(page as *const libc::c_void, 4096) };
}

/// Drops a page as the kernel may do at any moment.
pub fn drop_at(page: usize) {
    // SAFETY: the page is mapped, and made to be dropped.
    let status = unsafe { libc::madvise(page as *mut libc::c_void, 4096, libc::MADV_DONTNEED) };
    assert_eq!(status, 0);
}

/// Drops this thread's page over and over from another thread while `work` runs.
fn drop_page_while<T>(work: impl FnOnce() -> T) -> T {
    squall::u32();
    drop_while(page_address_for_testing(), |_| work())
}

/// Drops a page over and over from another thread while `work` runs, which gets the number of drops.
pub fn drop_while<T>(page: usize, work: impl FnOnce(&AtomicU64) -> T) -> T {
    assert_ne!(page, 0);
    unlock(page);
    let is_done = &AtomicBool::new(false);
    let drops = &AtomicU64::new(0);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            while !is_done.load(Ordering::Relaxed) {
                drop_at(page);
                drops.fetch_add(1, Ordering::Relaxed);
                // Many times what a seeding takes: most drops hit requests, not seedings.
                for _ in 0..3000 {
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
pub const EMPTIED: usize = 5;

/// Looks for repeats and zeros until enough draws have found the page emptied. Where both threads share
/// a CPU, the dropping one only runs when this one yields.
pub fn small() -> Verdict {
    judge_small(200, std::thread::yield_now)
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

/// Draws requests that are generated in place, of one and of several generator requests, until enough of
/// them have found their page emptied.
pub fn large() -> Verdict {
    judge_large(200, &[257, 1000, 65_537, 200_000], std::thread::yield_now)
}

/// The same until a request is served from an empty page: the other thread must run within a request, so
/// the requests are short.
pub fn large_until_served_from_an_empty_page() -> Verdict {
    judge_large(u64::MAX, &[257], || ())
}

fn judge_large(enough: u64, lens: &[usize], between: fn()) -> Verdict {
    // Those bytes are known of an AES engine. Without AES instructions, another one would serve.
    squall::hazmat::use_engine(Engine::best_aes()).expect("this CPU has it");
    let empty = first_bytes_from_an_empty_page();
    let mut out = vec![0; *lens.iter().max().expect("a length")];
    drop_page_while(|| {
        while events_for_testing()[EMPTIED] < enough {
            for &len in lens {
                squall::fill(&mut out[..len]);
                if out.starts_with(&empty) {
                    return Verdict::Broken("served from an empty page".to_owned());
                }
                between();
            }
        }
        Verdict::Held
    })
}

/// What the generator of an empty page, whose key and counter are zeros, returns first after additional input of zeros: its
/// counter is incremented before it is encrypted (SP 800-90A sections 10.2.1.2 and 10.2.1.5.1).
fn first_bytes_from_an_empty_page() -> Draw {
    let keystream = |key: &[u8; 32], block: u128, out: &mut [u8]| {
        Keystream::<Aes256>::new(key, Engine::Portable)
            .expect("the portable engine is everywhere")
            .fill(block, out, Stores::Cached);
    };
    let mut state = [0; 48];
    keystream(&[0; 32], 1, &mut state);
    let (key, counter) = state.split_first_chunk().expect("a key and a counter");
    let counter = u128::from_be_bytes(counter.try_into().expect("a block"));
    let mut block = Draw::default();
    keystream(key, counter.wrapping_add(1), &mut block);
    block
}
