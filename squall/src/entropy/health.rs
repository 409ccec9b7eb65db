//! The continuous health tests of NIST SP 800-90B section 4.4.
//!
//! They detect a noise source that is stuck, for a few comparisons per sample. They do not estimate
//! entropy: they assume a fixed minimum for each sample, below which a source would be useless. A
//! source that fails is left out for good; nothing relies on one that passes.
//!
//! Every thread tests what it reads itself, because every CPU has its own sources. A signal handler
//! that interrupts a test may take samples too; the interrupted test then continues from what it had
//! read before. At worst some of these samples are not counted, or the rest of a window is compared
//! with another first sample. No sample is counted twice, and a source that has failed stays failed.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering, compiler_fence};

use crate::per_thread::ZeroAtStart;

/// Samples in a window of the adaptive proportion test (for sources that are not binary).
const WINDOW: u32 = 512;

/// Cutoffs of the tests. A good source fails one of them by chance less than once in 2^30 samples
/// or windows, if its samples have the entropy that the limits assume.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Equal samples in a row (section 4.4.1): 1 + ceil(30 / entropy of a sample in bits).
    repetitions: u32,
    /// Samples in a window that equal its first (section 4.4.2): 1 + the critical value of the
    /// binomial distribution B(512, 2^-entropy) at 1 - 2^-30.
    in_window: u32,
}

impl Limits {
    /// For samples of at least one bit of entropy.
    pub const ONE_BIT: Limits = Limits {
        repetitions: 31,
        in_window: 325,
    };

    /// For samples of at least 32 bits of entropy.
    pub const HALF_WORD: Limits = Limits {
        repetitions: 2,
        in_window: 2,
    };
}

/// The tests of one source in one thread.
#[derive(Debug, Default)]
pub(crate) struct Health {
    /// The last sample.
    last: AtomicU64,
    /// How often the last sample came in a row: 0 before the first.
    run: AtomicU32,
    /// The first sample of the window.
    first: AtomicU64,
    /// How often the first sample has come; in the upper half, how many samples are still to come.
    /// Both are in one word, so that they belong to the same window.
    window: AtomicU32,
}

/// Bit position of the samples still to come in [`Health::window`].
const REMAINING_SHIFT: u32 = 16;

// SAFETY: integers, for which 0 is valid and which need no drop.
unsafe impl ZeroAtStart for Health {}

impl Health {
    /// Takes a sample; false if the source fails a test.
    #[inline]
    pub fn passes(&self, sample: u64, limits: Limits) -> bool {
        self.repetitions(sample) < limits.repetitions && self.in_window(sample) < limits.in_window
    }

    /// Repetition count test.
    #[inline]
    fn repetitions(&self, sample: u64) -> u32 {
        let run = if self.last.load(Ordering::Relaxed) == sample {
            self.run.load(Ordering::Relaxed) + 1
        } else {
            1
        };
        // The count is stored before its sample: a handler in between finds the last sample with too
        // small a count, never the new sample with the old count.
        self.run.store(run, Ordering::Relaxed);
        compiler_fence(Ordering::Release);
        self.last.store(sample, Ordering::Relaxed);
        run
    }

    /// Adaptive proportion test.
    #[inline]
    fn in_window(&self, sample: u64) -> u32 {
        let window = self.window.load(Ordering::Relaxed);
        let (remaining, equal) = (
            window >> REMAINING_SHIFT,
            window & ((1 << REMAINING_SHIFT) - 1),
        );
        let (remaining, equal) = match remaining {
            0 => {
                self.first.store(sample, Ordering::Relaxed);
                (WINDOW - 1, 1)
            }
            _ => {
                let is_equal = self.first.load(Ordering::Relaxed) == sample;
                (remaining - 1, equal + u32::from(is_equal))
            }
        };
        self.window
            .store(remaining << REMAINING_SHIFT | equal, Ordering::Relaxed);
        equal
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many samples `source` gives before it fails, if it fails within `most`.
    fn failure(limits: Limits, most: usize, mut source: impl FnMut(usize) -> u64) -> Option<usize> {
        let health = Health::default();
        (0..most).position(|i| !health.passes(source(i), limits))
    }

    #[test]
    fn stuck_sources_fail_at_the_limit() {
        for stuck in [0, u64::MAX, 7] {
            assert_eq!(failure(Limits::ONE_BIT, 1000, |_| stuck), Some(30));
            assert_eq!(failure(Limits::HALF_WORD, 1000, |_| stuck), Some(1));
        }
        let later = |i| if i < 100 { i as u64 } else { 5 };
        assert_eq!(failure(Limits::ONE_BIT, 1000, later), Some(130));
    }

    #[test]
    fn sources_that_alternate_fail_by_their_proportion() {
        let alternating = |i: usize| (i % 2) as u64;
        assert_eq!(failure(Limits::HALF_WORD, 1000, alternating), Some(2));
        // Half of a window is what one bit allows; three quarters is not.
        assert_eq!(failure(Limits::ONE_BIT, 100_000, alternating), None);
        let mostly_equal = |i: usize| u64::from(i % 4 == 3);
        assert!(failure(Limits::ONE_BIT, 2 * WINDOW as usize, mostly_equal).is_some());
    }

    #[test]
    fn good_sources_pass() {
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
            state
        };
        assert_eq!(failure(Limits::HALF_WORD, 1_000_000, |_| next()), None);
        assert_eq!(failure(Limits::ONE_BIT, 1_000_000, |_| next() >> 56), None);
        assert_eq!(failure(Limits::ONE_BIT, 1_000_000, |_| next() >> 63), None);
    }

    #[test]
    fn a_window_has_512_samples() {
        let health = Health::default();
        for window in 0..3 {
            for equal in 1..=WINDOW {
                assert_eq!(health.in_window(7), equal, "window {window}");
            }
        }
    }

    /// A handler may take a sample after any instruction of a test.
    #[test]
    #[cfg(target_arch = "x86_64")]
    fn no_sample_is_counted_twice() {
        let has_failed = core::cell::Cell::new(false);
        for interrupted_at in 1.. {
            let health = Health::default();
            let take = |sample| {
                if !health.passes(sample, Limits::ONE_BIT) {
                    has_failed.set(true);
                }
            };
            (1..Limits::ONE_BIT.repetitions).for_each(|_| take(7));
            let steps = crate::steps::step_through(|| take(8), &|step| {
                if step == interrupted_at {
                    take(8);
                }
            });
            assert!(!has_failed.get(), "after {interrupted_at} instructions");
            if steps < interrupted_at {
                break;
            }
        }
    }

    /// The limits follow the standard's formulas.
    #[test]
    fn limits_follow_from_the_entropy_assumed() {
        for (bits, limits) in [(1, Limits::ONE_BIT), (32, Limits::HALF_WORD)] {
            assert_eq!(limits.repetitions, 1 + 30u32.div_ceil(bits));
            assert_eq!(limits.in_window, 1 + critical_value(bits));
        }
    }

    /// The least c such that, with probability at least 1 - 2^-30, at most c of 512 samples equal a
    /// given value, if each does with probability 2^-bits.
    fn critical_value(bits: u32) -> u32 {
        let p = 0.5f64.powi(bits as i32);
        let n = f64::from(WINDOW);
        // Terms from the upper end, so that small ones are not lost.
        let log_term = |k: f64| {
            let log_choose: f64 = (0..k as u32)
                .map(|i| ((n - f64::from(i)) / (k - f64::from(i))).ln())
                .sum();
            log_choose + k * p.ln() + (n - k) * (-p).ln_1p()
        };
        let mut tail = 0.0;
        let mut c = WINDOW;
        loop {
            tail += log_term(f64::from(c)).exp();
            if tail > 0.5f64.powi(30) {
                return c;
            }
            c -= 1;
        }
    }
}
