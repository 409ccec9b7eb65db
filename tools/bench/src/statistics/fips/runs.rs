//! Runs of equal bits in a block of FIPS 140-2: how many there are of each length, of zeros and of
//! ones, and whether one is long.

use multiversion::multiversion;

use super::BLOCK;

/// How many runs of zeros, and how many of ones, may have lengths of 1, 2, 3, 4, 5, and 6 or more.
const BOUNDS: [(u32, u32); 6] = [
    (2315, 2685),
    (1114, 1386),
    (527, 723),
    (240, 384),
    (103, 209),
    (103, 209),
];

/// Words that a block touches: the last one by half.
const WORDS: usize = BLOCK.div_ceil(8);

/// The bits of the last word that are in the block.
const LAST: u64 = 0xFFFF_FFFF;

/// A bit for each bit of a block, and a word behind it.
type Bits = [u64; WORDS + 1];

/// The runs of a block.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Runs {
    /// How many have each length.
    zeros: [u32; 6],
    ones: [u32; 6],
    /// Whether one has 26 bits or more.
    pub(super) has_long: bool,
}

impl Runs {
    pub(super) fn is_within(&self) -> bool {
        let is_within = |counts: &[u32; 6]| {
            let mut counts = counts.iter().zip(BOUNDS);
            counts.all(|(&count, (least, most))| (least..=most).contains(&count))
        };
        is_within(&self.zeros) && is_within(&self.ones)
    }
}

/// The runs of `block`.
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512vl+avx512vpopcntdq",
    "x86_64+avx2+popcnt"
))]
pub(super) fn of(block: &[u8; BLOCK]) -> Runs {
    let bits = bits(block);
    let turns = turns(&bits);
    let (zeros, ones) = lengths(&bits, &turns);
    Runs {
        zeros,
        ones,
        has_long: has_long(&turns),
    }
}

#[inline(always)]
fn bits(block: &[u8; BLOCK]) -> Bits {
    let (words, half) = block.as_chunks::<8>();
    let mut bits = [0; WORDS + 1];
    for (word, bytes) in bits.iter_mut().zip(words) {
        *word = u64::from_le_bytes(*bytes);
    }
    let mut last = [0; 8];
    last[..half.len()].copy_from_slice(half);
    bits[WORDS - 1] = u64::from_le_bytes(last);
    bits
}

/// Ones where a run begins, and everywhere behind the block.
#[inline(always)]
fn turns(bits: &Bits) -> Bits {
    let mut turns = [u64::MAX; WORDS + 1];
    turns[0] = (bits[0] ^ (bits[0] << 1)) | 1;
    for i in 1..WORDS {
        turns[i] = bits[i] ^ (bits[i] << 1 | bits[i - 1] >> 63);
    }
    turns[WORDS - 1] |= !LAST;
    turns
}

/// The bits of word `i` and behind it, `by` later.
#[inline(always)]
fn later(bits: &Bits, i: usize, by: u32) -> u64 {
    bits[i] >> by | bits[i + 1] << (64 - by)
}

#[inline(always)]
fn lengths(bits: &Bits, turns: &Bits) -> ([u32; 6], [u32; 6]) {
    let mut all = [0; 6];
    let mut ones = [0; 6];
    for i in 0..WORDS {
        let in_block = if i == WORDS - 1 { LAST } else { u64::MAX };
        let mut open = turns[i] & in_block;
        for length in 1..6 {
            let end = later(turns, i, length);
            let ended = open & end;
            all[length as usize - 1] += ended.count_ones();
            ones[length as usize - 1] += (ended & bits[i]).count_ones();
            open &= !end;
        }
        all[5] += open.count_ones();
        ones[5] += (open & bits[i]).count_ones();
    }
    (std::array::from_fn(|i| all[i] - ones[i]), ones)
}

/// Whether there are 25 bits in a row at which no run begins: 1, 2, 4, 8, 16, 24, 25 of them.
#[inline(always)]
fn has_long(turns: &Bits) -> bool {
    let one = turns.map(|turns| !turns);
    let two = joined(&one, &one, 1);
    let four = joined(&two, &two, 2);
    let eight = joined(&four, &four, 4);
    let sixteen = joined(&eight, &eight, 8);
    let most = joined(&sixteen, &eight, 16);
    let long = joined(&most, &one, 24);
    long.iter().fold(0, |any, word| any | word) != 0
}

/// Ones where `bits` has one, and `others` `by` later.
#[inline(always)]
fn joined(bits: &Bits, others: &Bits, by: u32) -> Bits {
    let mut joined = [0; WORDS + 1];
    for i in 0..WORDS {
        joined[i] = bits[i] & later(others, i, by);
    }
    joined
}

/// The sum over all counts of the probability that true random bits put it out of its bounds.
#[cfg(test)]
pub(super) fn rate() -> f64 {
    let bounds = BOUNDS.into_iter().zip(1..);
    bounds
        .map(|((least, most), length)| 2.0 * tests::outside(length, least, most))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::super::BLOCK;
    use super::{Runs, of};

    /// Probability that the number of runs of ones of `length` (6: or more) is not from `least` to
    /// `most`: a recursion over the bits, by the run that is open and the runs that have ended.
    pub(super) fn outside(length: usize, least: u32, most: u32) -> f64 {
        let (least, most) = (least as usize, most as usize);
        let width = most + 300;
        // Row 0: a zero is last; row l: l ones are, 6 or more for the last.
        let mut open = vec![vec![0.0; width]; 7];
        open[0][0] = 0.5;
        open[1][0] = 0.5;
        for _ in 1..8 * BLOCK {
            let zero = ended(&open, length);
            let mut next = vec![zero, open[0].clone()];
            next.extend_from_slice(&open[1..6]);
            for (most, more) in next[6].iter_mut().zip(&open[6]) {
                *most += more;
            }
            next.iter_mut()
                .flatten()
                .for_each(|probability| *probability /= 2.0);
            open = next;
        }
        let counts = ended(&open, length);
        counts[..least].iter().sum::<f64>() + counts[most + 1..].iter().sum::<f64>()
    }

    /// How many runs there are if all end here.
    fn ended(open: &[Vec<f64>], length: usize) -> Vec<f64> {
        let mut counts = vec![0.0; open[0].len()];
        for (row, probabilities) in open.iter().enumerate() {
            let more = usize::from(row == length);
            for (count, probability) in counts[more..].iter_mut().zip(probabilities) {
                *count += probability;
            }
        }
        counts
    }

    /// Bit by bit.
    fn counted(block: &[u8; BLOCK]) -> Runs {
        let bits = block
            .iter()
            .flat_map(|byte| (0..8).map(move |i| byte >> i & 1));
        let bits: Vec<u8> = bits.collect();
        let mut runs = Runs {
            zeros: [0; 6],
            ones: [0; 6],
            has_long: false,
        };
        for run in bits.chunk_by(|one, other| one == other) {
            let counts = match run[0] {
                0 => &mut runs.zeros,
                _ => &mut runs.ones,
            };
            counts[run.len().min(6) - 1] += 1;
            runs.has_long |= run.len() >= 26;
        }
        runs
    }

    #[test]
    fn runs_are_those_counted_bit_by_bit() {
        let mut blocks = vec![[0; BLOCK], [0xFF; BLOCK], [0x55; BLOCK]];
        // Runs of 24 to 27 bits and more that begin and end anywhere in words, or with the block.
        const BITS: usize = 8 * BLOCK;
        for start in (0..64).chain(BITS - 100..BITS - 20) {
            let mut block: [u8; BLOCK] = squall::array();
            for bit in start..BITS.min(start + 24 + start % 4) {
                block[bit / 8] &= !(1 << (bit % 8));
            }
            blocks.push(block);
            blocks.push(block.map(|byte| !byte));
        }
        let long = blocks
            .iter()
            .filter(|block| counted(block).has_long)
            .count();
        assert!(
            (10..blocks.len() - 10).contains(&long),
            "{long} have long runs"
        );
        for block in blocks {
            assert_eq!(of(&block), counted(&block));
        }
    }
}
