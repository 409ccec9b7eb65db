//! The four tests of FIPS 140-2 (4.9.1, with the bounds of change notice 1, 2001) on every block
//! of 20,000 bits, of each byte the lowest bit first.
//!
//! The standard rejects a generator for one bad block. A stream has many, and true random blocks
//! fail too, so what is judged is how many do: their number is binomial, with the rates below.

mod runs;

use super::findings::Outcome;
use super::p_value;

/// Bytes of a block.
pub(super) const BLOCK: usize = 2500;

/// How many of each value a block's bytes have.
pub(super) type Counts = [u16; 256];

/// A test and how often true random blocks fail it.
///
/// Computed from the bounds, not measured: monobit is a sum of binomial terms, poker comes from the
/// generating function of the sum of squares of 16 multinomial counts, long runs from a recursion
/// over the bits. For runs it is the sum over the 12 counts, each by recursion: a bound, as two
/// counts may be out of bounds together, which is too rare to show in millions of blocks.
const TESTS: [(&str, f64); 4] = [
    ("FIPS 140-2 monobit", 1.034_97e-4),
    ("FIPS 140-2 poker", 9.973_66e-5),
    ("FIPS 140-2 runs", 2.995_65e-4),
    ("FIPS 140-2 long run", 2.976_21e-4),
];

/// Blocks, and how many failed each test.
#[derive(Debug, Default)]
pub(super) struct Fips {
    blocks: u64,
    failed: [u64; 4],
}

impl Fips {
    /// Tests a block.
    pub(super) fn add(&mut self, block: &[u8; BLOCK]) -> Counts {
        let counts = count(block);
        let nibbles = nibbles(&counts);
        let runs = runs::of(block);
        let failures = [
            !is_balanced(&nibbles),
            !is_poker(&nibbles),
            !runs.is_within(),
            runs.has_long,
        ];
        self.blocks += 1;
        for (failed, failure) in self.failed.iter_mut().zip(failures) {
            *failed += u64::from(failure);
        }
        counts
    }

    pub(super) fn outcomes(&self) -> Vec<Outcome> {
        let tests = TESTS.into_iter().zip(self.failed);
        let outcome = |((name, rate), failed): ((&'static str, f64), u64)| Outcome {
            name,
            statistic: failed as f64,
            p_value: p_value::binomial(failed, self.blocks, rate),
            detail: format!(
                "{failed} of {} blocks failed, {:.1} expected",
                self.blocks,
                self.blocks as f64 * rate
            ),
        };
        tests.map(outcome).collect()
    }
}

/// Counts in four tables, so that equal bytes in a row do not wait for each other.
fn count(block: &[u8; BLOCK]) -> Counts {
    let mut tables = [[0_u16; 256]; 4];
    let (quads, _) = block.as_chunks::<4>();
    for quad in quads {
        for (table, &byte) in tables.iter_mut().zip(quad) {
            table[usize::from(byte)] += 1;
        }
    }
    std::array::from_fn(|byte| tables.iter().map(|table| table[byte]).sum())
}

/// How many of each value the halves of bytes have.
fn nibbles(counts: &Counts) -> [u32; 16] {
    let mut nibbles = [0; 16];
    let (rows, _) = counts.as_chunks::<16>();
    for (high, row) in rows.iter().enumerate() {
        for (nibble, &count) in nibbles.iter_mut().zip(row) {
            *nibble += u32::from(count);
        }
        nibbles[high] += row.iter().map(|&count| u32::from(count)).sum::<u32>();
    }
    nibbles
}

fn is_balanced(nibbles: &[u32; 16]) -> bool {
    let ones = nibbles.iter().zip(0_u32..);
    let ones: u32 = ones.map(|(count, value)| count * value.count_ones()).sum();
    9725 < ones && ones < 10_275
}

fn is_poker(nibbles: &[u32; 16]) -> bool {
    let squares: u32 = nibbles.iter().map(|count| count * count).sum();
    let statistic = 16.0 / 5000.0 * f64::from(squares) - 5000.0;
    2.16 < statistic && statistic < 46.17
}

#[cfg(test)]
mod tests {
    use statrs::distribution::{Binomial, DiscreteCDF as _};

    use super::{BLOCK, Counts, TESTS, count, is_balanced, is_poker, nibbles, runs};

    /// Probability of no run of 26 or more, by the length of the last run.
    fn rate_of_long_runs() -> f64 {
        let mut by_length = [0.0; 25];
        by_length[0] = 1.0;
        for _ in 1..8 * BLOCK {
            let turn = by_length.iter().sum::<f64>() / 2.0;
            by_length = std::array::from_fn(|length| match length {
                0 => turn,
                _ => by_length[length - 1] / 2.0,
            });
        }
        1.0 - by_length.iter().sum::<f64>()
    }

    #[test]
    fn rates_follow_from_the_bounds() {
        let ones = Binomial::new(0.5, 20_000).unwrap();
        let computed = [
            (TESTS[0], ones.cdf(9725) + ones.sf(10_274)),
            (TESTS[2], runs::rate()),
            (TESTS[3], rate_of_long_runs()),
        ];
        for ((name, rate), computed) in computed {
            let error = (rate / computed - 1.0).abs();
            assert!(error < 1e-4, "{name}: {computed:e}");
        }
    }

    /// The poker statistic is nearly chi-square with 15 degrees of freedom.
    #[test]
    fn rate_of_poker_is_near_that_of_chi_square() {
        use statrs::distribution::{ChiSquared, ContinuousCDF as _};
        let chi_square = ChiSquared::new(15.0).unwrap();
        let near = chi_square.cdf(2.16) + chi_square.sf(46.17);
        assert!((TESTS[1].1 / near - 1.0).abs() < 0.02, "{near:e}");
    }

    #[test]
    fn bounds_are_those_of_the_standard() {
        let ones = |ones: u32| {
            let mut nibbles = [0; 16];
            nibbles[1] = ones;
            is_balanced(&nibbles)
        };
        assert!(!ones(9725) && ones(9726) && ones(10_274) && !ones(10_275));
        let poker = |off: u32| is_poker(&spread(off));
        assert!(!poker(6) && poker(7) && poker(30) && !poker(31));
    }

    /// Half of the counts `off` above 312, the others as much below 313: the statistic is
    /// 0.0512 (off - 0.5)^2.
    fn spread(off: u32) -> [u32; 16] {
        std::array::from_fn(|value| match value % 2 {
            0 => 312 + off,
            _ => 313 - off,
        })
    }

    #[test]
    fn counts_are_those_of_bytes_and_their_halves() {
        let mut block = [0x3A; BLOCK];
        block[17] = 0xFF;
        let mut expected: Counts = [0; 256];
        expected[0x3A] = 2499;
        expected[0xFF] = 1;
        assert_eq!(count(&block), expected);
        let nibbles = nibbles(&expected);
        assert_eq!((nibbles[3], nibbles[10], nibbles[15]), (2499, 2499, 2));
    }
}
