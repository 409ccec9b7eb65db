//! Bursts: requests in such quick succession that the machine was not stopped between them.
//!
//! The buffer that a burst is served from was filled within the burst, with a word of the CPU's random
//! instruction: the burst is *anchored*. So no other copy of this machine has the buffer's bytes, and
//! they may leave as they are. After a pause, in which the machine may have been cloned, requests get
//! a pad. Once several of these requests have come in quick succession, the buffer is refilled, which
//! anchors the next burst.

use core::cell::Cell;

use super::stop::Reading;
use crate::failpoint::{self, Failpoint};

/// The buffer is refilled after this many requests with a pad in quick succession: a refill takes about
/// as long as eight pads.
const PADS_BEFORE_REFILL: u16 = 8;

/// Maximum of the same number, which doubles when a refill takes too long to anchor a burst.
const MAX_PADS_BEFORE_REFILL: u16 = 1024;

/// The last readings of a thread's requests. All zeros: a burst without an anchor.
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
    pub fn continues(&self, now: Reading) -> bool {
        let cpu = if failpoint::is_active(Failpoint::SkipBurstAnchors) {
            &self.last_cpu
        } else {
            &self.anchored_cpu
        };
        let continues = now.proves_no_stop_since(Reading {
            count: self.last_count.get(),
            cpu: cpu.get(),
        });
        if continues {
            self.last_count.set(now.count);
        }
        continues
    }

    /// Records a request that gets a pad. True if the buffer should be refilled, so that further quick
    /// requests need no pad.
    pub fn record_padded(&self, now: Reading) -> bool {
        let streak = if self.is_quick(now) {
            self.streak.get().saturating_add(1)
        } else {
            0
        };
        self.end(now);
        self.streak.set(streak);
        streak >= self.pads_before_refill()
    }

    /// Records that a refill was completed at `now`. `is_anchored` says that a word of the random
    /// instruction was drawn after the refill's first reading, and that the machine was not stopped between
    /// its readings.
    pub fn record_refill(&self, now: Reading, is_anchored: bool) {
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

    /// Records that the buffer was refilled without reading the cycle counter.
    pub fn clear_anchor(&self) {
        self.anchored_cpu.set(Reading::NO_CPU);
    }

    /// Whether the machine was not stopped since the last reading, anchored or not.
    fn is_quick(&self, now: Reading) -> bool {
        now.proves_no_stop_since(Reading {
            count: self.last_count.get(),
            cpu: self.last_cpu.get(),
        })
    }

    fn pads_before_refill(&self) -> u16 {
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

    /// A burst whose buffer was filled at [`LATER`].
    fn anchored() -> Burst {
        let burst = unused();
        burst.record_refill(at(LATER), true);
        burst
    }

    #[test]
    fn a_burst_continues_from_request_to_request() {
        let burst = anchored();
        for request in 1..100 {
            assert!(burst.continues(at(LATER + request * 999)));
        }
        assert!(!burst.continues(at(LATER + 99 * 999 + 1000)));
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
            assert!(!burst.continues(pause));
            assert!(!burst.record_padded(pause));
            // A quick request after the pause does not belong to the burst.
            assert!(!burst.continues(Reading {
                count: pause.count + 1,
                ..pause
            }));
        }
    }

    #[test]
    fn no_burst_begins_without_an_anchor() {
        assert!(!unused().continues(at(LATER)));
        assert!(!unused().continues(at(1)));
        let burst = anchored();
        burst.record_refill(at(LATER), false);
        assert!(!burst.continues(at(LATER + 1)));
        let burst = anchored();
        burst.clear_anchor();
        assert!(!burst.continues(at(LATER + 1)));
    }

    /// How many requests in quick succession it takes until the buffer is refilled.
    fn requests_until_refill(burst: &Burst) -> Option<u64> {
        (0..5000).find(|request| burst.record_padded(at(2 * LATER + request)))
    }

    #[test]
    fn the_buffer_is_refilled_after_a_streak() {
        assert_eq!(
            requests_until_refill(&anchored()),
            Some(u64::from(PADS_BEFORE_REFILL))
        );
        let burst = anchored();
        for request in 1..100 {
            // Each one gap after the last.
            assert!(!burst.record_padded(at(LATER + request * 1000)));
        }
    }

    #[test]
    fn refills_that_fail_to_anchor_become_rarer() {
        let burst = anchored();
        for pads_before_refill in [16, 32, 64, 128, 256, 512, 1024, 1024, 1024] {
            burst.record_refill(at(LATER), false);
            assert_eq!(requests_until_refill(&burst), Some(pads_before_refill));
        }
        burst.record_refill(at(LATER), true);
        assert_eq!(
            requests_until_refill(&burst),
            Some(u64::from(PADS_BEFORE_REFILL))
        );
    }
}
