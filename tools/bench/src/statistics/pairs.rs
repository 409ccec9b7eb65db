//! Pairs of bytes: which byte comes behind which, in words of 16 bits.

use super::findings::Outcome;
use super::p_value;

const VALUES: usize = 1 << 16;

#[derive(Debug)]
pub(super) struct Pairs(Vec<u64>);

impl Pairs {
    pub(super) fn new() -> Pairs {
        Pairs(vec![0; VALUES])
    }

    pub(super) fn add(&mut self, piece: &[u8]) {
        let (pairs, _) = piece.as_chunks::<2>();
        for pair in pairs {
            self.0[usize::from(u16::from_le_bytes(*pair))] += 1;
        }
    }

    pub(super) fn outcome(&self) -> Outcome {
        let expected = self.0.iter().sum::<u64>() as f64 / VALUES as f64;
        let square = |&count: &u64| (count as f64 - expected).powi(2) / expected;
        let statistic: f64 = self.0.iter().map(square).sum();
        let freedom = (VALUES - 1) as f64;
        Outcome {
            name: "pairs of bytes",
            statistic,
            p_value: p_value::chi_square(statistic, freedom),
            detail: format!("chi-square {statistic:.0}, {freedom} expected"),
        }
    }
}
