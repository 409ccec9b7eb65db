//! Bursts: requests in such quick succession that the machine was not stopped between them.
//!
//! The buffer that a burst is served from was made within it, with a word of the CPU's random
//! instruction: the burst is *anchored*. So no other copy of this machine has the buffer's bytes, and
//! they may leave as they are. After a pause, in which the machine may have been cloned, requests get
//! a pad; once several of them have come in quick succession, the buffer is made anew, which anchors
//! the next burst.

use core::cell::Cell;

use super::stop::Reading;
use crate::failpoint::{self, Failpoint};

/// Requests with a pad in quick succession after which the buffer is made anew: a refill takes about
/// as long as so many pads.
const PADS_BEFORE_REFILL: u16 = 8;

/// The same where buffers could not be made within the gap, at most.
const MAX_PADS_BEFORE_REFILL: u16 = 1024;

/// The readings of a thread's requests. Zeros are a burst that has no anchor.
#[derive(Debug)]
pub(crate) struct Burst {
    /// Cycle count of the last reading.
    last_count: Cell<u64>,
    /// The last reading's CPU if the burst is anchored, else [`Reading::NO_CPU`].
    anchored_cpu: Cell<u32>,
    /// The last reading's CPU.
    last_cpu: Cell<u32>,
    /// Requests with a pad that followed each other.
    streak: Cell<u16>,
    /// Consecutive refills that failed to anchor; each doubles [`PADS_BEFORE_REFILL`].
    unanchored_refills: Cell<u16>,
}

impl Burst {
    /// Whether bytes that were read before `now` belong to this copy of the machine alone.
    #[inline(always)]
    pub fn goes_on(&self, now: Reading) -> bool {
        let cpu = if failpoint::is_off(Failpoint::Anchors) {
            &self.last_cpu
        } else {
            &self.anchored_cpu
        };
        let goes_on = now.follows(Reading {
            count: self.last_count.get(),
            cpu: cpu.get(),
        });
        if goes_on {
            self.last_count.set(now.count);
        }
        goes_on
    }

    /// Records a request that gets a pad. True if the buffer should be made anew, so that requests
    /// which follow as quickly need none.
    pub fn record_padded(&self, now: Reading) -> bool {
        let streak = if self.is_quick(now) {
            self.streak.get().saturating_add(1)
        } else {
            0
        };
        self.end(now);
        self.streak.set(streak);
        streak >= self.enough()
    }

    /// Records that the buffer was completed at `now`. If `is_anchored`, that took place between readings
    /// that follow one another, with a word of the random instruction behind the first.
    pub fn begin(&self, now: Reading, is_anchored: bool) {
        self.end(now);
        if is_anchored {
            self.anchored_cpu.set(now.cpu);
            self.unanchored_refills.set(0);
        } else {
            let most = MAX_PADS_BEFORE_REFILL.ilog2() as u16;
            self.unanchored_refills
                .set((self.unanchored_refills.get() + 1).min(most));
        }
    }

    /// Records that the buffer was made without looking for a burst.
    pub fn forget(&self) {
        self.anchored_cpu.set(Reading::NO_CPU);
    }

    /// Whether `now` follows the last reading, anchored or not.
    fn is_quick(&self, now: Reading) -> bool {
        now.follows(Reading {
            count: self.last_count.get(),
            cpu: self.last_cpu.get(),
        })
    }

    fn enough(&self) -> u16 {
        (PADS_BEFORE_REFILL << self.unanchored_refills.get()).min(MAX_PADS_BEFORE_REFILL)
    }

    /// Ends the burst with this reading.
    fn end(&self, now: Reading) {
        self.last_count.set(now.count);
        self.last_cpu.set(now.cpu);
        self.anchored_cpu.set(Reading::NO_CPU);
        self.streak.set(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A burst that no thread has used.
    fn unused() -> Burst {
        Burst {
            last_count: Cell::new(0),
            anchored_cpu: Cell::new(0),
            last_cpu: Cell::new(0),
            streak: Cell::new(0),
            unanchored_refills: Cell::new(0),
        }
    }

    fn at(count: u64) -> Reading {
        Reading { count, cpu: 1 }
    }

    const LATER: u64 = 1 << 40;

    /// A burst whose buffer was made until [`LATER`].
    fn anchored() -> Burst {
        let burst = unused();
        burst.begin(at(LATER), true);
        burst
    }

    #[test]
    fn a_burst_goes_on_from_request_to_request() {
        let burst = anchored();
        for request in 1..100 {
            assert!(burst.goes_on(at(LATER + request * 999)));
        }
        assert!(!burst.goes_on(at(LATER + 99 * 999 + 1000)));
    }

    #[test]
    fn a_burst_ends_with_a_pause_or_another_cpu() {
        for pause in [
            at(LATER + 1000),
            at(LATER - 1),
            Reading {
                cpu: 2,
                ..at(LATER)
            },
        ] {
            let burst = anchored();
            assert!(!burst.goes_on(pause));
            assert!(!burst.record_padded(pause));
            // A quick request after the pause is not of the burst.
            assert!(!burst.goes_on(Reading {
                count: pause.count + 1,
                ..pause
            }));
        }
    }

    #[test]
    fn no_burst_begins_without_an_anchor() {
        assert!(!unused().goes_on(at(LATER)));
        assert!(!unused().goes_on(at(1)));
        let burst = anchored();
        burst.begin(at(LATER), false);
        assert!(!burst.goes_on(at(LATER + 1)));
        let burst = anchored();
        burst.forget();
        assert!(!burst.goes_on(at(LATER + 1)));
    }

    /// How many requests in quick succession it takes until the buffer is made anew.
    fn requests_until_anew(burst: &Burst) -> Option<u64> {
        (0..5000).find(|request| burst.record_padded(at(2 * LATER + request)))
    }

    #[test]
    fn the_buffer_is_made_anew_after_a_streak() {
        assert_eq!(
            requests_until_anew(&anchored()),
            Some(u64::from(PADS_BEFORE_REFILL))
        );
        let burst = anchored();
        for request in 1..100 {
            // Each at the end of a gap.
            assert!(!burst.record_padded(at(LATER + request * 1000)));
        }
    }

    #[test]
    fn buffers_that_anchor_nothing_are_made_less_often() {
        let burst = anchored();
        for enough in [16, 32, 64, 128, 256, 512, 1024, 1024, 1024] {
            burst.begin(at(LATER), false);
            assert_eq!(requests_until_anew(&burst), Some(enough));
        }
        burst.begin(at(LATER), true);
        assert_eq!(
            requests_until_anew(&burst),
            Some(u64::from(PADS_BEFORE_REFILL))
        );
    }
}
