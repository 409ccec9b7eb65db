//! Bytes and pairs of them: how often each occurs, how much information that is, and whether a byte
//! tells of the next.

use super::findings::{Test, chi_square, normal};

/// Counts of pairs of bytes, and the sum of products of neighbours.
#[derive(Debug)]
pub(super) struct Bytes {
    /// By the pair as a number, little-endian.
    pairs: Vec<u64>,
    products: u64,
    first: Option<u8>,
    last: u8,
}

impl Default for Bytes {
    fn default() -> Bytes {
        Bytes {
            pairs: vec![0; 1 << 16],
            products: 0,
            first: None,
            last: 0,
        }
    }
}

impl Bytes {
    /// Adds `piece`, whose length is even, and which follows the last one.
    pub(super) fn add(&mut self, piece: &[u8]) {
        for pair in piece.as_chunks::<2>().0 {
            self.pairs[usize::from(u16::from_le_bytes(*pair))] += 1;
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

    pub(super) fn tests(&self) -> [Test; 4] {
        let counts = self.counts();
        [
            Test::of_counts("bytes", &counts),
            entropy(&counts),
            self.correlation(&counts),
            Test::of_counts("pairs of bytes", &self.pairs),
        ]
    }

    /// How often each byte occurs.
    fn counts(&self) -> [u64; 256] {
        let mut counts = [0; 256];
        for (pair, count) in self.pairs.iter().enumerate() {
            counts[pair % 256] += count;
            counts[pair / 256] += count;
        }
        counts
    }

    /// The serial correlation coefficient, in a circle (Knuth, The Art of Computer Programming,
    /// volume 2, 3.3.2 K): normal, with its mean and variance. That of equal bytes is called 1.
    fn correlation(&self, counts: &[u64; 256]) -> Test {
        let moment = |power: u32| -> i128 {
            let counts = counts.iter().zip(0_i128..);
            counts
                .map(|(&count, value)| i128::from(count) * value.pow(power))
                .sum()
        };
        let (len, sum, squares) = (moment(0), moment(1), moment(2));
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
        Test {
            name: "serial correlation",
            statistic: coefficient,
            p_value: normal(score),
            detail: format!("coefficient {coefficient:.6}, spread {deviation:.6}"),
        }
    }
}

/// Shannon's entropy of the distribution of bytes. What it lacks to 8 bits is chi-square with 255
/// degrees of freedom, times 2 n ln 2 (the likelihood ratio).
fn entropy(counts: &[u64; 256]) -> Test {
    let len = counts.iter().sum::<u64>() as f64;
    let occurring = counts.iter().filter(|&&count| count > 0);
    let ratio: f64 = occurring
        .map(|&count| 2.0 * count as f64 * (count as f64 * 256.0 / len).ln())
        .sum();
    let bits = 8.0 - ratio.max(0.0) / (2.0 * len * std::f64::consts::LN_2);
    Test {
        name: "entropy",
        statistic: bits,
        p_value: chi_square(ratio.max(0.0), 255.0),
        detail: format!("{bits:.6} bits a byte"),
    }
}

/// The sum of the products of neighbours.
fn products(bytes: &[u8]) -> u64 {
    // Sums of so many products fit into 32 bits.
    const PART: usize = 1 << 15;
    let behind = bytes.get(1..).unwrap_or_default();
    let parts = bytes.chunks(PART).zip(behind.chunks(PART));
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
        pieces.iter().for_each(|piece| bytes.add(piece));
        bytes
    }

    /// By hand: sums 6, squares 14, products in the circle 0·1 + 1·2 + 2·3 + 3·0 = 8.
    #[test]
    fn statistics_are_those_computed_by_hand() {
        let bytes = of(&[&[0, 1], &[2, 3]]);
        let [frequencies, entropy, correlation, pairs] = bytes.tests().map(|test| test.statistic);
        assert_eq!(frequencies, 256.0 - 4.0);
        assert!((entropy - 2.0).abs() < 1e-12);
        assert_eq!(correlation, (4.0 * 8.0 - 36.0) / (4.0 * 14.0 - 36.0));
        assert!((pairs - (65536.0 - 2.0)).abs() < 1e-6);
    }

    #[test]
    fn products_do_not_overflow() {
        let bytes = of(&[&[255; 60_000], &[255; 40_000]]);
        assert_eq!(bytes.products, 99_999 * 255 * 255);
        assert_eq!(bytes.tests()[2].statistic, 1.0);
    }
}
