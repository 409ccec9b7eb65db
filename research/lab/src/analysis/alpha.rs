//! Estimates how many unpredictable bits an event's cycle count has, by the method of Whirlwind's paper
//! (section IV): as many low bits as pass for uniform over all trials, both in the count and in its
//! difference to each earlier event of the same trace.
//!
//! With fifty trials this measures how widely counts spread, but not which ones never occur. Where the
//! counter moves in steps of s cycles, the paper's number is up to log2(s) too large.

use serde::Serialize;

use super::uniformity::{MOST_BITS, Test};

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
    fn constants_have_no_unpredictable_bits() {
        for constant in [0, 1, 12_345_678, u64::MAX / 3] {
            let [first, second] = alphas_of(|| vec![constant, constant + 1000])[..] else {
                panic!("two events");
            };
            assert_eq!((first.paper, first.conservative), (0, 0));
            assert_eq!((second.paper, second.conservative), (0, 0));
        }
        assert_eq!(alphas(&[vec![5, 6], vec![5]]).len(), 1);
    }

    #[test]
    fn six_trials_suffice_to_reject_a_constant() {
        let alphas = alphas(&vec![vec![77]; FEWEST_TRIALS]);
        assert_eq!((alphas[0].paper, alphas[0].conservative), (0, 0));
    }

    /// Even with thousands of tests, late uniform events keep almost all bits. For at most one event of
    /// ten, a test of few bits fails.
    #[test]
    fn uniform_counts_keep_almost_all_bits() {
        let mut random = Random::new(3);
        let alphas = alphas_of(|| (0..200).map(|_| random.word()).collect());
        assert!(alphas.iter().all(|alpha| alpha.paper >= 25), "{alphas:?}");
        assert!(alphas.iter().all(|alpha| alpha.conservative <= alpha.paper));
        let is_less = |alpha: &&Alpha| alpha.conservative < 25;
        assert!(alphas.iter().filter(is_less).count() <= 25, "{alphas:?}");
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
}
