//! Blocks of 16 bytes that occur twice: random blocks never do in a stream of realistic length.
//!
//! One block in 32 is remembered, chosen by its content so that both occurrences are, in a table
//! where it stays until another takes its place: some 32 MiB of the stream later.

use super::findings::{Test, binomial};

/// Entries of the table, as a power of two.
const ENTRIES: u32 = 16;

/// Blocks of which one is remembered, as a power of two.
const CHOICE: u32 = 5;

/// How likely two blocks are alike.
const ALIKE: f64 = 1.0 / (1_u128 << 127) as f64 / 2.0;

/// 2^64 divided by the golden ratio: products with it have well-mixed high bits.
const MIX: u64 = 0x9E37_79B9_7F4A_7C15;

type Block = [u64; 2];

/// Blocks seen before. A place where none was yet holds zeros, a block like any other.
#[derive(Debug)]
pub(super) struct Repeats {
    seen: Vec<Block>,
    compared: u64,
    repeated: u64,
}

impl Default for Repeats {
    fn default() -> Repeats {
        Repeats {
            seen: vec![[0; 2]; 1 << ENTRIES],
            compared: 0,
            repeated: 0,
        }
    }
}

impl Repeats {
    pub(super) fn add(&mut self, words: &[u64]) {
        let (blocks, _) = words.as_chunks::<2>();
        for &block in blocks {
            let mixed = mixed(block);
            if mixed >> (64 - CHOICE) == 0 {
                self.compare(block, (mixed >> (64 - CHOICE - ENTRIES)) as usize);
            }
        }
    }

    fn compare(&mut self, block: Block, place: usize) {
        self.compared += 1;
        self.repeated += u64::from(self.seen[place] == block);
        self.seen[place] = block;
    }

    pub(super) fn test(&self) -> Test {
        Test {
            name: "repeated blocks",
            statistic: self.repeated as f64,
            p_value: binomial(self.repeated, self.compared, ALIKE),
            detail: format!(
                "{} of {} blocks of 16 bytes occurred before",
                self.repeated, self.compared
            ),
        }
    }
}

fn mixed(block: Block) -> u64 {
    let first = block[0].wrapping_mul(MIX);
    (first ^ (first >> 32) ^ block[1]).wrapping_mul(MIX)
}

#[cfg(test)]
mod tests {
    use super::Repeats;

    fn repeated(words: &[u64]) -> u64 {
        let mut repeats = Repeats::default();
        repeats.add(words);
        repeats.repeated
    }

    /// 2 MiB hold 4096 chosen blocks, of which few have lost their place.
    #[test]
    fn a_stream_given_twice_repeats_and_others_do_not() {
        let words: Vec<u64> = (0..1 << 18).map(|_| squall::u64()).collect();
        assert_eq!(repeated(&words), 0);
        let twice = [words.as_slice(), words.as_slice()].concat();
        assert!(repeated(&twice) > 3000);
    }
}
