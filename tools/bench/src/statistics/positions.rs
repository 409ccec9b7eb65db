//! Each of the 64 positions of a bit in a word by itself: how often it is one, and how often it
//! differs from the same bit of the word 1, 2, 4, … 2048 words before.
//!
//! The second finds periods: bit k of a linear congruential generator modulo a power of two
//! differs always from itself 2^k steps before, and never 2^(k+1) before.

mod planes;

use super::findings::Outcome;
use super::p_value;

use planes::{GROUP, count, count_differing};

/// How far apart words are compared.
const DISTANCES: [usize; 12] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048];

/// Where words have one that far before them.
const START: usize = 2048;

const _: () = assert!(START.is_multiple_of(GROUP));

/// Ones by position, among how many words.
#[derive(Clone, Copy, Debug)]
struct Tally {
    words: u64,
    ones: [u64; 64],
}

impl Default for Tally {
    fn default() -> Tally {
        Tally {
            words: 0,
            ones: [0; 64],
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Positions {
    plain: Tally,
    differing: [Tally; DISTANCES.len()],
}

impl Positions {
    /// Adds `words`, whose number is that of whole groups.
    pub(super) fn add(&mut self, words: &[u64]) {
        self.plain.add(words.len(), &count(words));
        let behind = &words[START..];
        for (tally, distance) in self.differing.iter_mut().zip(DISTANCES) {
            let before = &words[START - distance..];
            tally.add(behind.len(), &count_differing(behind, before));
        }
    }

    pub(super) fn outcomes(&self) -> [Outcome; 2] {
        [self.bias(), self.periods()]
    }

    fn bias(&self) -> Outcome {
        let statistic = self.plain.chi_square();
        Outcome {
            name: "bits by position",
            statistic,
            p_value: p_value::chi_square(statistic, 64.0),
            detail: format!("chi-square {statistic:.1} over 64 positions, 64 expected"),
        }
    }

    /// The distance that is the least likely.
    fn periods(&self) -> Outcome {
        let judged = self
            .differing
            .iter()
            .zip(DISTANCES)
            .map(|(tally, distance)| {
                let statistic = tally.chi_square();
                (p_value::chi_square(statistic, 64.0), statistic, distance)
            });
        let worst = judged.min_by(|one, other| one.0.total_cmp(&other.0));
        let (p_value, statistic, distance) = worst.unwrap_or((1.0, 64.0, 0));
        Outcome {
            name: "bits over distances",
            statistic,
            p_value: p_value::least([p_value], DISTANCES.len()),
            detail: format!(
                "chi-square {statistic:.1} at {} bytes, 64 expected",
                8 * distance
            ),
        }
    }
}

impl Tally {
    fn add(&mut self, words: usize, ones: &[u64; 64]) {
        self.words += words as u64;
        for (own, ones) in self.ones.iter_mut().zip(ones) {
            *own += ones;
        }
    }

    /// Each position is binomial, and their squares are independent.
    fn chi_square(&self) -> f64 {
        let words = self.words as f64;
        let square = |&ones: &u64| (2.0 * ones as f64 - words).powi(2) / words;
        self.ones.iter().map(square).sum()
    }
}
