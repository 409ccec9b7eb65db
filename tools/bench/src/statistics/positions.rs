//! Each of the 64 positions of a bit in a word by itself: how often it is one, and how often it
//! differs from the same bit of the word 1, 2, 4, … 2048 words before.
//!
//! The second finds periods: bit k of a linear congruential generator modulo a power of two
//! differs always from itself 2^k steps before, and never 2^(k+1) before.

use super::findings::Outcome;
use super::p_value;

/// How far apart words are compared.
const DISTANCES: [usize; 12] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048];

/// Where words have one that far before them.
const START: usize = 2048;

/// Most that a byte counts.
const MOST: u32 = 255;

/// The bits of each byte, spread over the bytes of a number.
const SPREAD: [u64; 256] = {
    let mut spread = [0; 256];
    let mut at = 0;
    while at < 256 * 8 {
        let (byte, bit) = (at / 8, at % 8);
        spread[byte] |= (byte as u64 >> bit & 1) << (8 * bit);
        at += 1;
    }
    spread
};

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
    /// Adds `words`, of which there are more than [`START`].
    pub(super) fn add(&mut self, words: &[u64]) {
        self.plain.add(words.iter().copied());
        let behind = &words[START..];
        for (tally, distance) in self.differing.iter_mut().zip(DISTANCES) {
            let pairs = behind.iter().zip(&words[START - distance..]);
            tally.add(pairs.map(|(one, other)| one ^ other));
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
    fn add(&mut self, words: impl Iterator<Item = u64>) {
        // Byte j of number i counts bit j of the words' byte i.
        let mut counts = [0_u64; 8];
        let mut room = MOST;
        for word in words {
            for (count, byte) in counts.iter_mut().zip(word.to_le_bytes()) {
                *count += SPREAD[usize::from(byte)];
            }
            self.words += 1;
            room -= 1;
            if room == 0 {
                self.flush(&mut counts);
                room = MOST;
            }
        }
        self.flush(&mut counts);
    }

    fn flush(&mut self, counts: &mut [u64; 8]) {
        let bytes = counts.iter().flat_map(|count| count.to_le_bytes());
        for (own, ones) in self.ones.iter_mut().zip(bytes) {
            *own += u64::from(ones);
        }
        *counts = [0; 8];
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
    use super::Tally;

    #[test]
    fn ones_are_those_counted_one_by_one() {
        let words: Vec<u64> = (0..1000).map(|i| squall::u64() | ((i % 3) << 62)).collect();
        let mut tally = Tally::default();
        tally.add(words.iter().copied());
        for position in 0..64 {
            let ones: u64 = words.iter().map(|word| word >> position & 1).sum();
            assert_eq!(tally.ones[position], ones);
        }
        assert_eq!(tally.words, 1000);
    }
}
