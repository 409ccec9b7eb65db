//! Estimates how many unpredictable bits an event's cycle count has, by the method of Whirlwind's paper
//! (section IV): as many low bits as pass for uniform over all trials, both in the count and in its
//! difference to each earlier event of the same trace.
//!
//! With fifty trials this measures how widely counts spread, but not which ones never occur. Where the
//! counter moves in steps of s cycles, the paper's number is up to log2(s) too large.
//!
//! The test is the one-sample Kolmogorov–Smirnov test. Critical values are those of the asymptotic
//! distribution with Stephens's correction for small samples (M. A. Stephens: EDF statistics for goodness
//! of fit and some comparisons; Journal of the American Statistical Association 69, 1974, table 1A): D is
//! too large at significance 0.1 if (√n + 0.12 + 0.11 / √n) D exceeds 1.224. Other significances take the
//! first term of the asymptotic tail, 2 exp(-2 x²), which gives 1.224 there too.
//!
//! The statistic is taken against the discrete distribution that uniform bits would have, so it is right
//! for few bits, where numbers coincide. There the critical value is too large, never too small (W. J.
//! Conover: A Kolmogorov goodness-of-fit test for discontinuous distributions; same journal 67, 1972):
//! uniform bits are rejected less often than the significance says.

use serde::Serialize;

/// The significance level of the paper's tests.
const SIGNIFICANCE: f64 = 0.1;

/// Fewest trials: with fewer, even a constant passes for a uniform bit.
pub(super) const FEWEST_TRIALS: usize = 6;

/// The unpredictable bits of one event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Alpha {
    /// The paper's estimate: the largest number of low bits that passes, even if some smaller number
    /// fails.
    pub paper: u32,
    /// The largest number of low bits that passes together with all smaller numbers, after leaving out
    /// the lowest bits that the counter's steps decide. An event has thousands of such tests, and each
    /// would reject one uniform sample of ten, so this significance is that of all its tests together.
    /// Never more than `paper`.
    pub conservative: u32,
}

/// The unpredictable bits of each event. `trials` holds the cycle counts of the same events.
pub(super) fn alphas(trials: &[Vec<u64>]) -> Vec<Alpha> {
    let events = trials.iter().map(Vec::len).min().unwrap_or(0);
    (0..events).map(|event| alpha(trials, event)).collect()
}

fn alpha(trials: &[Vec<u64>], event: usize) -> Alpha {
    let tests = (event + 1) * MOST_BITS as usize;
    let single = Test::new(trials.len(), SIGNIFICANCE);
    let joint = Test::new(trials.len(), SIGNIFICANCE / tests as f64);
    let least = Alpha {
        paper: MOST_BITS,
        conservative: MOST_BITS,
    };
    let counts = trials.iter().map(|trial| trial[event] as u32).collect();
    let differences = (0..event).map(|earlier| {
        let trials = trials.iter();
        let difference = |trial: &Vec<u64>| trial[event].wrapping_sub(trial[earlier]) as u32;
        trials.map(difference).collect()
    });
    let samples = std::iter::once::<Vec<u32>>(counts).chain(differences);
    samples.fold(least, |least, sample| {
        let paper = single.most_bits(&sample, least.paper);
        let enough = least.conservative.min(paper);
        Alpha {
            paper,
            conservative: joint.most_bits_without_gap(&sample, enough),
        }
    })
}

/// Most bits that are tested: an input holds this many bits of a cycle count.
pub(super) const MOST_BITS: u32 = 32;

/// Most of the lowest bits that may be left out, for a counter that moves in steps of up to 64 cycles.
const MOST_STEP_BITS: u32 = 6;

/// A test for samples of one size at one significance level.
#[derive(Clone, Copy, Debug)]
pub(super) struct Test {
    /// The greatest statistic that passes.
    limit: f64,
}

impl Test {
    /// A test for samples of `size` numbers.
    pub fn new(size: usize, significance: f64) -> Test {
        let root = (size as f64).sqrt();
        let limit = critical(significance) / (root + 0.12 + 0.11 / root);
        Test { limit }
    }

    /// Whether the low `bits` of `sample` pass for uniform. Zero bits always pass.
    pub fn passes(self, sample: &[u32], bits: u32) -> bool {
        bits == 0 || statistic(sample, bits) <= self.limit
    }

    /// The largest number of low bits that pass for uniform, or `enough` if any larger number passes.
    pub fn most_bits(self, sample: &[u32], enough: u32) -> u32 {
        let is_enough = (enough..=MOST_BITS).any(|bits| self.passes(sample, bits));
        let fewer = || (0..enough).rev().find(|&bits| self.passes(sample, bits));
        if is_enough {
            enough
        } else {
            fewer().unwrap_or(0)
        }
    }

    /// The largest number of bits that pass together with all smaller numbers, after leaving out up to
    /// [`MOST_STEP_BITS`] of the lowest bits. At most `enough` bits are tested.
    pub fn most_bits_without_gap(self, sample: &[u32], enough: u32) -> u32 {
        let above = |step: u32| {
            let sample: Vec<u32> = sample.iter().map(|number| number >> step).collect();
            let enough = enough.saturating_sub(step);
            let pass = (1..=enough).take_while(|&bits| self.passes(&sample, bits));
            pass.count() as u32
        };
        (0..=MOST_STEP_BITS).map(above).max().unwrap_or(0)
    }
}

fn critical(significance: f64) -> f64 {
    ((2.0 / significance).ln() / 2.0).sqrt()
}

/// The greatest distance of the distribution of the low `bits` of `sample` from the uniform one. Both
/// are step functions on whole numbers, so the distance is greatest at a number of the sample or at the
/// whole number before one. Of equal numbers, the first and the last decide.
fn statistic(sample: &[u32], bits: u32) -> f64 {
    let mask = (1u64 << bits) - 1;
    let mut low: Vec<u64> = sample.iter().map(|&n| u64::from(n) & mask).collect();
    low.sort_unstable();
    let (size, range) = (low.len() as f64, (mask + 1) as f64);
    let distances = low.iter().enumerate().map(|(index, &number)| {
        let at = (index + 1) as f64 / size - (number + 1) as f64 / range;
        let before = number as f64 / range - index as f64 / size;
        at.max(before)
    });
    distances.fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::super::synthetic::Random;
    use super::*;

    const TRIALS: usize = 50;

    fn alphas_of(mut trial: impl FnMut() -> Vec<u64>) -> Vec<Alpha> {
        let trials: Vec<_> = (0..TRIALS).map(|_| trial()).collect();
        alphas(&trials)
    }

    #[test]
    fn uniform_low_bits_are_counted() {
        let mut random = Random::new(4);
        for bits in [1, 4, 9, 16] {
            for constant in [0, 5_000_000_001, 3 << (bits - 1)] {
                let alphas = alphas_of(|| vec![constant + random.word() % (1 << bits)]);
                let Alpha {
                    paper,
                    conservative,
                } = alphas[0];
                assert!(paper.abs_diff(bits) <= 2, "{bits}: {paper}");
                assert!(conservative.abs_diff(bits) <= 2, "{bits}: {conservative}");
            }
        }
    }

    #[test]
    fn bits_known_from_an_earlier_event_do_not_count() {
        let mut random = Random::new(5);
        let alphas = alphas_of(|| {
            let first = random.word() % (1 << 20);
            let jitter = random.word() % (1 << 6);
            vec![first, first + 1000, first + 9000 + jitter]
        });
        assert!(alphas[0].paper >= 19);
        assert_eq!((alphas[1].paper, alphas[1].conservative), (0, 0));
        assert!(alphas[2].paper.abs_diff(6) <= 2);
    }

    #[test]
    fn statistics_by_hand() {
        // Each of four numbers once: the distance is 0, even with coinciding numbers.
        assert_eq!(statistic(&[0, 1, 2, 3], 2), 0.0);
        assert_eq!(statistic(&[0, 1, 2, 3, 4, 5, 6, 7], 2), 0.0);
        // All are 0, where a quarter should be. All are 3, where three quarters should be lower.
        assert_eq!(statistic(&[0, 4, 8], 2), 0.75);
        assert_eq!(statistic(&[3; 5], 2), 0.75);
        // Three of four bits are 1: a quarter is 0 where half should be.
        assert_eq!(statistic(&[0, 1, 1, 1], 1), 0.25);
        // 0.1, 0.2 and 0.9 of the range: the sample reaches two thirds at 0.2.
        let tenth = u32::MAX / 10;
        let continuous = statistic(&[tenth, 2 * tenth, 9 * tenth], 32);
        assert!((continuous - (2.0 / 3.0 - 0.2)).abs() < 1e-6);
    }

    /// Of 2000 uniform samples, the test rejects a tenth; of single bits, fewer.
    #[test]
    fn uniform_numbers_are_rejected_at_the_significance_level() {
        let mut random = Random::new(1);
        let test = Test::new(50, 0.1);
        let mut rejected = [0; 2];
        for _ in 0..2000 {
            let sample: Vec<u32> = (0..50).map(|_| random.word() as u32).collect();
            rejected[0] += u32::from(!test.passes(&sample, 32));
            rejected[1] += u32::from(!test.passes(&sample, 1));
        }
        assert!((150..250).contains(&rejected[0]), "{rejected:?}");
        assert!(rejected[1] < 100, "{rejected:?}");
    }

    #[test]
    fn only_one_of_the_counts_ignores_gaps() {
        let mut random = Random::new(2);
        let hundreds: Vec<u32> = (0..50).map(|_| random.word() as u32 / 128 * 128).collect();
        let test = Test::new(50, 0.1);
        assert_eq!(test.most_bits_without_gap(&hundreds, 32), 0);
        assert!(test.most_bits(&hundreds, 32) >= 29);
        assert_eq!(test.most_bits(&hundreds, 12), 12);
    }

    /// A counter that moves in steps has fewer bits by the size of the steps.
    #[test]
    fn steps_of_the_counter_are_left_out() {
        let mut random = Random::new(3);
        let test = Test::new(50, 0.0001);
        let even: Vec<u32> = (0..50).map(|_| random.word() as u32 % 1024 * 2).collect();
        assert!((9..=10).contains(&test.most_bits_without_gap(&even, 32)));
        let steps: Vec<u32> = (0..50).map(|_| random.word() as u32 % 1024 * 26).collect();
        assert!((8..=14).contains(&test.most_bits_without_gap(&steps, 32)));
    }
}
