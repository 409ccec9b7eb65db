//! The kernel's tick: a number that changes each time the kernel updates its clock, one to ten milliseconds apart.
//!
//! A process cannot be frozen, written to files and restored twice within one tick (CRIU, gVisor). So no buffer and
//! no state is used in a later tick before it has taken the cycle counter and random words as additional input:
//! two copies of a process then differ. The tick is not used as a clock.
//!
//! Each of the vDSO's clocks begins with a count of its updates. Its address is not part of the kernel's promised
//! interface, so squall searches for it: for the only place that shows the time of the coarse clock, preceded by a
//! plausible header. If none is found, every request gets a pad.

use core::sync::atomic::{AtomicU64, Ordering};

use super::clock;
use super::freshness;
use super::memory::page_size;
use super::vdso;
use crate::failpoint::{self, Failpoint};

/// A clock that moves only with the tick, and that no time namespace shifts.
const CLOCK: libc::clockid_t = libc::CLOCK_REALTIME_COARSE;

/// Words before the first of the times: count and mode, last cycles, longest distance, mask, factor and shift
/// (include/vdso/datapage.h in Linux).
const HEADER_WORDS: usize = 5;

/// Linux before 6.10 has no longest distance.
const OLD_HEADER_WORDS: usize = HEADER_WORDS - 1;

/// Words between the header and the time of [`CLOCK`]: each clock has seconds and nanoseconds, by its number.
const WORDS_BEFORE_TIME: usize = 2 * CLOCK as usize;

/// Follows the tick if it can be found; searches again if it has moved, as after a change of the time namespace.
pub(crate) fn follow() {
    // A tick may disturb a comparison, and a search makes system calls.
    let shows_clock =
        |place| (0..4).any(|_| coarse_time().is_some_and(|time| is_clock(place, time)));
    if !freshness::tick_address().is_some_and(shows_clock) {
        freshness::set_tick_address(find());
    }
}

fn find() -> Option<*const AtomicU64> {
    /// Attempts at a search, which a tick may disturb.
    const ATTEMPTS: usize = 3;
    if failpoint::is_active(Failpoint::HideTick) {
        return None;
    }
    let base = vdso::base()?;
    (0..ATTEMPTS).find_map(|_| {
        let time = coarse_time()?;
        let mut found = places(base).filter(|&place| is_clock(place, time));
        let place = found.next()?;
        found.next().is_none().then_some(place)
    })
}

/// Addresses where a clock may begin.
fn places(base: usize) -> impl Iterator<Item = *const AtomicU64> {
    /// The clocks come first in their page.
    const WITHIN: usize = 1024;
    let (pages, count) = pages(base, freshness::watched_generation(), page_size());
    pages
        .into_iter()
        .take(count)
        .filter(|&page| vdso::is_readable(page as *const u8))
        .flat_map(|page| (page..page + WITHIN).step_by(size_of::<u64>()))
        .map(|place| place as *const AtomicU64)
}

/// The pages of the vDSO's data that may hold the clocks, and how many there are. From Linux 6.15 on, the `generation`
/// has a page of its own, two above the clocks', or one in a time namespace. Before, they share a page.
fn pages(base: usize, generation: Option<usize>, page: usize) -> ([usize; 5], usize) {
    /// Distances from the vDSO where the generation is not seen, in pages.
    const BELOW: [usize; 5] = if cfg!(target_arch = "x86_64") {
        [4, 3, 1, 6, 5]
    } else {
        [2, 1, 4, 3, 5]
    };
    match generation {
        Some(at) if at.is_multiple_of(page) => ([at - 2 * page, at - page, 0, 0, 0], 2),
        Some(at) => ([at - at % page, 0, 0, 0, 0], 1),
        None => (BELOW.map(|below| base - below * page), BELOW.len()),
    }
}

/// Whether a clock begins at `place`, and shows `time`.
fn is_clock(place: *const AtomicU64, time: [u64; 2]) -> bool {
    [HEADER_WORDS, OLD_HEADER_WORDS]
        .into_iter()
        .any(|header| is_clock_after(header, place, time))
}

fn is_clock_after(header: usize, place: *const AtomicU64, time: [u64; 2]) -> bool {
    /// The kernel's clock modes (enum vdso_clock_mode): one that the vDSO cannot read, and the largest.
    const NO_CYCLES: u64 = 0;
    const LARGEST_MODE: u64 = 3;
    // SAFETY: the page was found readable, the words are all within it, and the vDSO's data stays mapped.
    let word = |at| unsafe { (*place.add(at)).load(Ordering::Relaxed) };
    let halves = |at| (word(at) & 0xffff_ffff, word(at) >> 32);
    let (updates, mode) = halves(0);
    let mask = word(header - 2);
    let (factor, shift) = halves(header - 1);
    let is_plausible = match mode {
        NO_CYCLES => true,
        1..=LARGEST_MODE => {
            mask != 0 && mask & mask.wrapping_add(1) == 0 && factor != 0 && shift <= 32
        }
        _ => false,
    };
    let at = header + WORDS_BEFORE_TIME;
    [word(at), word(at + 1)] == time && updates.is_multiple_of(2) && is_plausible
}

fn coarse_time() -> Option<[u64; 2]> {
    clock::read(CLOCK)
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;

    const TIME: [u64; 2] = [1_700_000_000, 123_456_789];

    /// Whether one of the kernel's clocks that shows [`TIME`] is found with these words changed.
    fn shows_time(changed: &[(usize, u64)]) -> bool {
        let mut words = [0; 17];
        // Mode and count of updates, mask, shift and factor.
        words[0] = 1 << 32 | 6;
        words[3] = u64::MAX;
        words[4] = 24 << 32 | 0x50_0000;
        words[15..].copy_from_slice(&TIME);
        for &(at, word) in changed {
            words[at] = word;
        }
        let words = words.map(AtomicU64::new);
        is_clock(words.as_ptr(), TIME)
    }

    #[test]
    fn a_clock_is_told_by_its_time_and_what_stands_before_it() {
        let clocks: [&[_]; 7] = [
            &[],
            &[(0, 3 << 32)],
            &[(3, (1 << 56) - 1)],
            &[(4, 32 << 32 | 1)],
            &[(4, 1)],
            // The vDSO cannot read this one's cycles, so the fields about them may be anything.
            &[(0, 8), (3, 0), (4, 0)],
            // Linux before 6.10.
            &[
                (2, u64::MAX),
                (3, 24 << 32 | 7),
                (14, TIME[0]),
                (15, TIME[1]),
                (16, 0),
            ],
        ];
        for changed in clocks {
            assert!(shows_time(changed), "{changed:x?}");
        }
        let others: [&[_]; 9] = [
            &[(0, 4 << 32 | 6)],
            &[(0, 1 << 32 | 7)],
            &[(0, 7)],
            &[(3, 0)],
            &[(3, 6)],
            &[(4, 24 << 32)],
            &[(4, 33 << 32 | 1)],
            &[(15, TIME[0] + 1)],
            &[(16, TIME[1] + 1)],
        ];
        for changed in others {
            assert!(!shows_time(changed), "{changed:x?}");
        }
    }

    #[test]
    fn the_clocks_are_beside_the_generation() {
        const BASE: usize = 0x7fff_0000_0000;
        const PAGE: usize = 4096;
        let beside = |below, offset| {
            let (pages, count) = pages(BASE, Some(BASE - below * PAGE + offset), PAGE);
            pages[..count].to_vec()
        };
        // Linux 6.15 on: the second place is that of a time namespace.
        assert_eq!(beside(4, 0), [BASE - 6 * PAGE, BASE - 5 * PAGE]);
        // Linux 6.11 to 6.14.
        assert_eq!(beside(4, 640), [BASE - 4 * PAGE]);
        assert_eq!(beside(1, 640), [BASE - PAGE]);
        assert_eq!(pages(BASE, None, PAGE).1, 5);
    }

    /// The clock's address, as far as this machine's kernel shows it.
    fn found() -> Option<*const AtomicU64> {
        crate::fill(&mut [0; 16]);
        let found = find();
        assert_eq!(found.is_some(), crate::status().follows_tick);
        found
    }

    #[test]
    fn a_place_without_the_clock_does_not_show_it() {
        let Some(place) = found() else { return };
        let shows_clock = |place| is_clock(place, coarse_time().unwrap());
        // A tick may disturb a check, but not each one.
        assert!((0..1000).any(|_| shows_clock(place)));
        // Within the page, as the clocks come first in it.
        assert!(!shows_clock(place.wrapping_add(1)));
    }

    #[test]
    fn it_is_found_where_the_generation_is_not_seen() {
        let Some(place) = found() else { return };
        let (pages, count) = pages(vdso::base().unwrap(), None, page_size());
        assert!(pages[..count].contains(&(place.addr() - place.addr() % page_size())));
    }

    #[test]
    fn it_changes_with_the_coarse_clock() {
        let Some(place) = found() else { return };
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
            let mut now = moment();
            while now.0 == last.0 {
                std::thread::sleep(Duration::from_millis(1));
                now = moment();
            }
            assert_ne!(now.1, last.1);
            last = now;
        }
    }
}
