//! The kernel's tick: a number that changes each time the kernel brings its clock up to date, one to
//! ten milliseconds apart, and is read by one load ([`moment`]).
//!
//! It bounds how long bytes wait in a buffer where a VM clone is told late: a clone that was
//! stopped between two requests finds that the tick of its buffer is over. It is no clock, and
//! nothing else is asked of it.
//!
//! Each of the vDSO's clocks begins with a count of its updates. Where is not part of the kernel's
//! promised interface, so it is searched for: by the only place that shows the time of the coarse
//! clock, and by what must stand before it. Without one there is no bound.

use core::sync::atomic::{AtomicU64, Ordering};

use super::moment;
use super::vdso::{self, Vdso};
use crate::seam::{self, Seam};

/// The clock that only moves with the tick, and that no namespace shifts.
const CLOCK: libc::clockid_t = libc::CLOCK_REALTIME_COARSE;

/// Words before the first of the times: count and mode, last cycles, longest distance, mask,
/// factor and shift (include/vdso/datapage.h, Linux 6.10 on).
const HEADER_WORDS: usize = 5;

/// Words before the time of [`CLOCK`]: each clock has seconds and nanoseconds, by its number.
const WORDS_BEFORE: usize = HEADER_WORDS + 2 * CLOCK as usize;

/// Looks for the tick, and follows it where it is found.
pub(crate) fn follow(vdso: Vdso) {
    if !seam::is_off(Seam::Tick)
        && let Some(place) = find(vdso)
    {
        moment::read_second_at(place);
    }
}

fn find(vdso: Vdso) -> Option<*const AtomicU64> {
    /// A tick may come in the middle of a search.
    const ATTEMPTS: usize = 3;
    (0..ATTEMPTS).find_map(|_| {
        let time = coarse_time()?;
        let mut found = places(vdso).filter(|&place| is_clock(place, time));
        let place = found.next()?;
        found.next().is_none().then_some(place)
    })
}

/// Where a clock may begin: in the pages right below the vDSO, which hold its data.
fn places(vdso: Vdso) -> impl Iterator<Item = *const AtomicU64> {
    const PAGES: usize = 8;
    const PAGE: usize = 4096;
    /// The clocks come first in their page.
    const WITHIN: usize = 1024;
    (1..=PAGES)
        .map(move |page| vdso.base() - page * PAGE)
        .filter(|&page| vdso::is_readable(page as *const u8))
        .flat_map(|page| (page..page + WITHIN).step_by(size_of::<u64>()))
        .map(|place| place as *const AtomicU64)
}

/// Whether a clock begins at `place`, and shows `time`.
fn is_clock(place: *const AtomicU64, time: [u64; 2]) -> bool {
    /// The largest of the kernel's modes of clocks (enum vdso_clock_mode).
    const LARGEST_MODE: u64 = 3;
    // SAFETY: the page was found readable, the words are all within it, and the vDSO's data stays
    // mapped.
    let word = |at| unsafe { (*place.add(at)).load(Ordering::Relaxed) };
    let halves = |at| (word(at) & 0xffff_ffff, word(at) >> 32);
    let (updates, mode) = halves(0);
    let mask = word(3);
    let (factor, shift) = halves(4);
    [word(WORDS_BEFORE), word(WORDS_BEFORE + 1)] == time
        && updates.is_multiple_of(2)
        && mode <= LARGEST_MODE
        && mask != 0
        && mask & mask.wrapping_add(1) == 0
        && factor != 0
        && shift <= 32
}

fn coarse_time() -> Option<[u64; 2]> {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `now` is writable.
    let status = unsafe { libc::clock_gettime(CLOCK, &mut now) };
    (status == 0).then_some([now.tv_sec as u64, now.tv_nsec as u64])
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;

    #[test]
    fn it_changes_with_the_coarse_clock() {
        let Some(place) = Vdso::find().and_then(find) else {
            return println!("SKIP: no getrandom in the vDSO, or no tick in its data");
        };
        // SAFETY: it was found in the vDSO's data, which stays mapped.
        let tick = || unsafe { (*place).load(Ordering::Relaxed) };
        let moment = || {
            loop {
                let (before, tick, after) = (coarse_time(), tick(), coarse_time());
                if before == after {
                    return (before.unwrap(), tick);
                }
            }
        };
        let mut last = moment();
        for _ in 0..5 {
            std::thread::sleep(Duration::from_millis(11));
            let now = moment();
            assert_ne!(now.0, last.0);
            assert_ne!(now.1, last.1);
            last = now;
        }
    }
}
