//! Bytes: how often each value occurs, how much information that is, and whether a byte tells of
//! the next.

use super::findings::Outcome;
use super::p_value;

/// Counts of bytes, and the sum of products of neighbours.
#[derive(Debug)]
pub(super) struct Bytes {
    counts: [u64; 256],
    products: u64,
    first: Option<u8>,
    last: u8,
}

impl Default for Bytes {
    fn default() -> Bytes {
        Bytes {
            counts: [0; 256],
            products: 0,
            first: None,
            last: 0,
        }
    }
}

impl Bytes {
    /// Adds `piece`, which follows the last one.
    pub(super) fn add(&mut self, piece: &[u8]) {
        // Counts in four tables, so that equal bytes in a row do not wait for each other.
        let mut tables = [[0_u64; 256]; 4];
        for (at, &byte) in piece.iter().enumerate() {
            tables[at % 4][usize::from(byte)] += 1;
        }
        for (byte, own) in self.counts.iter_mut().enumerate() {
            *own += tables.iter().map(|table| table[byte]).sum::<u64>();
        }
        let (Some(&first), Some(&last)) = (piece.first(), piece.last()) else {
            return;
        };
        match self.first {
            None => self.first = Some(first),
            Some(_) => self.products += u64::from(self.last) * u64::from(first),
        }
        self.last = last;
        self.products += products(piece);
    }

    pub(super) fn outcomes(&self) -> [Outcome; 3] {
        [self.chi_square(), self.entropy(), self.correlation()]
    }

    fn len(&self) -> u64 {
        self.counts.iter().sum()
    }

    fn chi_square(&self) -> Outcome {
        let expected = self.len() as f64 / 256.0;
        let square = |&count: &u64| (count as f64 - expected).powi(2) / expected;
        let statistic: f64 = self.counts.iter().map(square).sum();
        Outcome {
            name: "bytes",
            statistic,
            p_value: p_value::chi_square(statistic, 255.0),
            detail: format!("chi-square {statistic:.1}, 255 expected"),
        }
    }

    /// Shannon's entropy of the distribution of bytes. What it lacks to 8 bits is chi-square with
    /// 255 degrees of freedom, times 2 n ln 2 (the likelihood ratio).
    fn entropy(&self) -> Outcome {
        let len = self.len() as f64;
        let counts = self.counts.iter().map(|&count| count as f64);
        let occurring = counts.filter(|&count| count > 0.0);
        let ratio: f64 = occurring
            .map(|count| 2.0 * count * (count * 256.0 / len).ln())
            .sum();
        let lacking = ratio.max(0.0) / (2.0 * len * std::f64::consts::LN_2);
        Outcome {
            name: "entropy",
            statistic: 8.0 - lacking,
            p_value: p_value::chi_square(ratio.max(0.0), 255.0),
            detail: format!("{:.6} bits a byte", 8.0 - lacking),
        }
    }

    /// The serial correlation coefficient, in a circle (Knuth, The Art of Computer Programming,
    /// volume 2, 3.3.2 K): normal, with its mean and variance. That of equal bytes is called 1.
    fn correlation(&self) -> Outcome {
        let len = i128::from(self.len());
        let moment = |power: u32| -> i128 {
            let counts = self.counts.iter().zip(0_i128..);
            counts
                .map(|(&count, value)| i128::from(count) * value.pow(power))
                .sum()
        };
        let (sum, squares) = (moment(1), moment(2));
        let closing = i128::from(self.last) * i128::from(self.first.unwrap_or(0));
        let products = i128::from(self.products) + closing;
        let covariance = len * products - sum * sum;
        let coefficient = match len * squares - sum * sum {
            0 => 1.0,
            variance => covariance as f64 / variance as f64,
        };
        let len = len as f64;
        let deviation = len / ((len - 1.0) * (len - 2.0).sqrt());
        let score = (coefficient + 1.0 / (len - 1.0)) / deviation;
        Outcome {
            name: "serial correlation",
            statistic: coefficient,
            p_value: p_value::normal(score),
            detail: format!("coefficient {coefficient:.6}, spread {deviation:.6}"),
        }
    }
}

/// The sum of the products of neighbours.
fn products(bytes: &[u8]) -> u64 {
    // Sums of so many products fit into 32 bits.
    const PART: usize = 1 << 15;
    let (Some((_, before)), Some((_, behind))) = (bytes.split_last(), bytes.split_first()) else {
        return 0;
    };
    let parts = before.chunks(PART).zip(behind.chunks(PART));
    let part = |(before, behind): (&[u8], &[u8])| {
        let neighbours = before.iter().zip(behind);
        neighbours
            .map(|(&one, &other)| u32::from(one) * u32::from(other))
            .sum::<u32>()
    };
    parts.map(|pair| u64::from(part(pair))).sum()
}

#[cfg(test)]
mod tests {
    use super::Bytes;

    fn of(pieces: &[&[u8]]) -> Bytes {
        let mut bytes = Bytes::default();
        for piece in pieces {
            bytes.add(piece);
        }
        bytes
    }

    /// By hand: sums 6, squares 14, products in the circle 0·1 + 1·2 + 2·3 + 3·0 = 8.
    #[test]
    fn statistics_are_those_computed_by_hand() {
        let bytes = of(&[&[0, 1], &[2, 3]]);
        assert_eq!(
            bytes.correlation().statistic,
            (4.0 * 8.0 - 36.0) / (4.0 * 14.0 - 36.0)
        );
        assert!((bytes.entropy().statistic - 2.0).abs() < 1e-12);
        assert_eq!(bytes.chi_square().statistic, 256.0 - 4.0);
    }

    #[test]
    fn products_do_not_overflow() {
        let bytes = of(&[&[255; 60_000], &[255; 40_000]]);
        assert_eq!(bytes.products, 99_999 * 255 * 255);
        assert_eq!(bytes.correlation().statistic, 1.0);
    }
}
