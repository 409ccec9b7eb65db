//! Ranks of binary matrices (Marsaglia): 64 words are the rows, and too many or too few matrices
//! of full rank show that bits are linear in earlier ones, as a shift register's are. Every
//! sixteenth matrix is looked at, for speed.

use super::findings::{Test, binomial};

/// The product of 1 - 2^-i for i from 1 to 64: how often a random matrix has full rank.
const FULL: f64 = 0.288_788_095_086_602_4;

/// Matrices, and how many have full rank.
#[derive(Debug, Default)]
pub(super) struct Rank {
    matrices: u64,
    full: u64,
}

impl Rank {
    pub(super) fn add(&mut self, words: &[u64]) {
        let (matrices, _) = words.as_chunks::<64>();
        for matrix in matrices.iter().step_by(16) {
            self.matrices += 1;
            self.full += u64::from(has_full_rank(*matrix));
        }
    }

    pub(super) fn test(&self) -> Test {
        let (full, matrices) = (self.full, self.matrices);
        let expected = matrices as f64 * FULL;
        Test {
            name: "matrix rank",
            statistic: full as f64,
            p_value: binomial(full, matrices, FULL),
            detail: format!("{full} of {matrices} matrices have full rank, {expected:.0} expected"),
        }
    }
}

/// Gaussian elimination: each row takes its lowest one from all rows below.
fn has_full_rank(mut rows: [u64; 64]) -> bool {
    for i in 0..64 {
        let row = rows[i];
        if row == 0 {
            return false;
        }
        let lowest = row.trailing_zeros();
        for below in &mut rows[i + 1..] {
            let has_it = (*below >> lowest) & 1;
            *below ^= row & has_it.wrapping_neg();
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::{FULL, has_full_rank};

    #[test]
    fn rate_is_the_product() {
        let product: f64 = (1..=64).map(|i| 1.0 - 0.5_f64.powi(i)).product();
        assert!((FULL - product).abs() < 1e-15);
    }

    #[test]
    fn ranks_are_full_unless_rows_depend() {
        let mut rows: [u64; 64] = std::array::from_fn(|i| u64::MAX << i);
        rows.reverse();
        assert!(has_full_rank(rows));
        rows[40] = rows[3] ^ rows[17] ^ rows[63];
        assert!(!has_full_rank(rows));
        rows[40] = 0;
        assert!(!has_full_rank(rows));
    }
}
