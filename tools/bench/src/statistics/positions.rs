//! Each of the 64 positions of a bit in a word by itself: how often it is one, and how often it
//! differs from the same bit of the word 1, 2, 4, … 2048 words before.
//!
//! The second finds periods: bit k of a linear congruential generator modulo a power of two
//! differs always from itself 2^k steps before, and never 2^(k+1) before.

use super::findings::{Test, chi_square};

/// How far apart words are compared.
const DISTANCES: [usize; 12] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048];

/// Where words have one that far before them.
const START: usize = 2048;

/// A one in each byte, and the most that a byte counts.
const ONES: u64 = u64::from_ne_bytes([1; 8]);
const MOST: usize = 255;

/// Ones by position, among how many words.
#[derive(Clone, Copy, Debug)]
struct Tally {
    words: u64,
    ones: [u64; 64],
}

const EMPTY: Tally = Tally {
    words: 0,
    ones: [0; 64],
};

#[derive(Debug)]
pub(super) struct Positions {
    plain: Tally,
    differing: [Tally; DISTANCES.len()],
}

impl Default for Positions {
    fn default() -> Positions {
        Positions {
            plain: EMPTY,
            differing: [EMPTY; DISTANCES.len()],
        }
    }
}

impl Positions {
    /// Adds `words`, of which there are more than [`START`].
    pub(super) fn add(&mut self, words: &[u64]) {
        self.plain.add(words.iter().copied());
        let behind = &words[START..];
        for (tally, distance) in self.differing.iter_mut().zip(DISTANCES) {
            let pairs = behind.iter().zip(&words[START - distance..]);
            tally.add(pairs.map(|(one, other)| one ^ other));
        }
    }

    pub(super) fn tests(&self) -> [Test; 2] {
        let statistic = self.plain.chi_square();
        let bias = Test {
            name: "bits by position",
            statistic,
            p_value: chi_square(statistic, 64.0),
            detail: format!("chi-square {statistic:.1} over 64 positions, 64 expected"),
        };
        [bias, self.periods()]
    }

    /// The distance that is the least likely, of so many (Bonferroni).
    fn periods(&self) -> Test {
        let of_distance = |(tally, distance): (&Tally, usize)| {
            let statistic = tally.chi_square();
            let p_value = chi_square(statistic, 64.0) * DISTANCES.len() as f64;
            Test {
                name: "bits over distances",
                statistic,
                p_value: p_value.min(1.0),
                detail: format!(
                    "chi-square {statistic:.1} at {} bytes, 64 expected",
                    8 * distance
                ),
            }
        };
        let tests = self.differing.iter().zip(DISTANCES).map(of_distance);
        let worst = tests.min_by(|one, other| one.p_value.total_cmp(&other.p_value));
        worst.expect("there are distances")
    }
}

impl Tally {
    fn add(&mut self, mut words: impl Iterator<Item = u64>) {
        loop {
            // Byte j of number i counts bit i of the words' byte j.
            let (mut counts, mut added) = ([0_u64; 8], 0);
            for word in words.by_ref().take(MOST) {
                for (bit, count) in counts.iter_mut().enumerate() {
                    *count += (word >> bit) & ONES;
                }
                added += 1;
            }
            for (at, ones) in self.ones.iter_mut().enumerate() {
                *ones += u64::from(counts[at % 8].to_le_bytes()[at / 8]);
            }
            self.words += added;
            if added < MOST as u64 {
                return;
            }
        }
    }

    /// Each position is binomial, and their squares are independent.
    fn chi_square(&self) -> f64 {
        let words = self.words as f64;
        let square = |&ones: &u64| (2.0 * ones as f64 - words).powi(2) / words;
        self.ones.iter().map(square).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::EMPTY;

    #[test]
    fn ones_are_those_counted_one_by_one() {
        let words: Vec<u64> = (0..1000).map(|i| squall::u64() | ((i % 3) << 62)).collect();
        let mut tally = EMPTY;
        tally.add(words.iter().copied());
        for position in 0..64 {
            let ones: u64 = words.iter().map(|word| word >> position & 1).sum();
            assert_eq!(tally.ones[position], ones);
        }
        assert_eq!(tally.words, 1000);
    }
}
