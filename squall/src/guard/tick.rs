//! The kernel's tick: a number that changes each time the kernel updates its clock, one to ten
//! milliseconds apart, and is read by one load ([`freshness`](super::freshness)).
//!
//! It bounds how long bytes wait in a buffer where notification of a VM clone is delayed: a clone
//! that was stopped between two requests finds that its buffer's tick is over. It is not used as a
//! clock.
//!
//! Each of the vDSO's clocks begins with a count of its updates. Its address is not part of the
//! kernel's promised interface, so squall searches for it: for the only place that shows the time
//! of the coarse clock, preceded by a plausible header. If none is found, there is no bound.

use core::sync::atomic::{AtomicU64, Ordering};

use super::freshness;
use super::vdso::{self, Vdso};
use crate::failpoint::{self, Failpoint};

/// A clock that moves only with the tick, and that no time namespace shifts.
const CLOCK: libc::clockid_t = libc::CLOCK_REALTIME_COARSE;

/// Words before the first of the times: count and mode, last cycles, longest distance, mask,
/// factor and shift (include/vdso/datapage.h, Linux 6.10 on).
const HEADER_WORDS: usize = 5;

/// Words before the time of [`CLOCK`]: each clock has seconds and nanoseconds, by its number.
const WORDS_BEFORE: usize = HEADER_WORDS + 2 * CLOCK as usize;

/// Follows the tick, if it can be found and there is no vmclock to follow; searches again if it has
/// moved, as after a change of the time namespace.
pub(crate) fn follow(vdso: Vdso) {
    let followed = freshness::second_place();
    let is_vmclock = followed.is_some_and(|place| !is_data_of(vdso, place));
    if failpoint::is_off(Failpoint::Tick) || is_vmclock {
        return;
    }
    if followed.is_some_and(shows_clock) {
        return;
    }
    if let Some(place) = find(vdso) {
        freshness::move_second(followed, place);
    }
}

/// Whether a readable place where the tick is followed still shows the clock. A tick during the
/// check makes it appear not to.
fn shows_clock(place: *const AtomicU64) -> bool {
    coarse_time().is_some_and(|time| is_clock(place, time))
}

/// Whether the tick is followed.
pub(crate) fn is_followed(vdso: Vdso) -> bool {
    freshness::second_place().is_some_and(|place| is_data_of(vdso, place))
}

fn is_data_of(vdso: Vdso, place: *const AtomicU64) -> bool {
    const PAGES: usize = 8;
    (vdso.base() - PAGES * PAGE..vdso.base()).contains(&place.addr())
}

fn find(vdso: Vdso) -> Option<*const AtomicU64> {
    /// Attempts at a search, which a tick may disturb.
    const ATTEMPTS: usize = 3;
    (0..ATTEMPTS).find_map(|_| {
        let time = coarse_time()?;
        let mut found = places(vdso).filter(|&place| is_clock(place, time));
        let place = found.next()?;
        found.next().is_none().then_some(place)
    })
}

const PAGE: usize = 4096;

/// Addresses where a clock may begin.
fn places(vdso: Vdso) -> impl Iterator<Item = *const AtomicU64> {
    /// The clocks come first in their page.
    const WITHIN: usize = 1024;
    pages(vdso)
        .into_iter()
        .flatten()
        .filter(|&page| vdso::is_readable(page as *const u8))
        .flat_map(|page| (page..page + WITHIN).step_by(size_of::<u64>()))
        .map(|place| place as *const AtomicU64)
}

/// The pages of the vDSO's data that may hold the clocks. The generation's place tells the kernel's
/// version: it shares the clocks' page up to Linux 6.14, and later has its own, four pages below the
/// vDSO. There the clocks are six pages below, and five in a time namespace.
fn pages(vdso: Vdso) -> [Option<usize>; 2] {
    freshness::generation_place().map_or([None; 2], |generation| {
        pages_beside(generation.addr(), vdso.base())
    })
}

fn pages_beside(generation: usize, base: usize) -> [Option<usize>; 2] {
    match generation % PAGE {
        0 => [6, 5].map(|below| Some(base - below * PAGE)),
        offset => [Some(generation - offset), None],
    }
}

/// Whether a clock begins at `place`, and shows `time`.
fn is_clock(place: *const AtomicU64, time: [u64; 2]) -> bool {
    /// The kernel's clock modes (enum vdso_clock_mode): one that the vDSO cannot read, and the
    /// largest.
    const NO_CYCLES: u64 = 0;
    const LARGEST_MODE: u64 = 3;
    // SAFETY: the page was found readable, the words are all within it, and the vDSO's data stays
    // mapped.
    let word = |at| unsafe { (*place.add(at)).load(Ordering::Relaxed) };
    let halves = |at| (word(at) & 0xffff_ffff, word(at) >> 32);
    let (updates, mode) = halves(0);
    let mask = word(3);
    let (factor, shift) = halves(4);
    let is_plausible = match mode {
        NO_CYCLES => true,
        1..=LARGEST_MODE => {
            mask != 0 && mask & mask.wrapping_add(1) == 0 && factor != 0 && shift <= 32
        }
        _ => false,
    };
    [word(WORDS_BEFORE), word(WORDS_BEFORE + 1)] == time
        && updates.is_multiple_of(2)
        && is_plausible
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
        let clocks: [&[_]; 6] = [
            &[],
            &[(0, 3 << 32)],
            &[(3, (1 << 56) - 1)],
            &[(4, 32 << 32 | 1)],
            &[(4, 1)],
            // The vDSO cannot read this one's cycles, so the fields about them may be anything.
            &[(0, 8), (3, 0), (4, 0)],
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
        let pages = |below, offset| pages_beside(BASE - below * PAGE + offset, BASE);
        // Linux 6.15 on: the second place is that of a time namespace.
        let later = [Some(BASE - 6 * PAGE), Some(BASE - 5 * PAGE)];
        assert_eq!(pages(4, 0), later);
        // Linux 6.11 to 6.14.
        assert_eq!(pages(4, 640), [Some(BASE - 4 * PAGE), None]);
        assert_eq!(pages(1, 640), [Some(BASE - PAGE), None]);
    }

    #[test]
    fn the_vdsos_data_is_right_below_it() {
        let Some(vdso) = Vdso::find() else {
            return assert!(!crate::status().has_vdso_getrandom);
        };
        let is_data = |at: usize| is_data_of(vdso, at as *const AtomicU64);
        assert!(is_data(vdso.base() - 8) && is_data(vdso.base() - 8 * PAGE));
        assert!(!is_data(vdso.base()) && !is_data(vdso.base() - 8 * PAGE - 8));
    }

    #[test]
    fn a_place_without_the_clock_does_not_show_it() {
        crate::fill(&mut [0; 16]);
        let Some(place) = Vdso::find().and_then(find) else {
            return assert!(!crate::status().follows_tick);
        };
        // A tick may disturb a check, but not each one.
        assert!((0..1000).any(|_| shows_clock(place)));
        // Within the page, as the clocks come first in it.
        assert!(!shows_clock(place.wrapping_add(1)));
    }

    #[test]
    fn it_changes_with_the_coarse_clock() {
        crate::fill(&mut [0; 16]);
        let Some(place) = Vdso::find().and_then(find) else {
            return assert!(!crate::status().follows_tick);
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
