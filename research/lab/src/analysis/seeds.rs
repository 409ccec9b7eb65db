//! Tracks which of Whirlwind's inputs each output depends on.
//!
//! Eight inputs wait in a buffer before they are compressed. Every tenth input goes to the slow seed.
//! That seed is put in use at the hundredth input, at the end of each bootstrap, and with each 50th
//! compression. This models one thread's Whirlwind with one shard; with more shards, more inputs wait.

use squall_probe::Input;

/// One of this many inputs goes to the slow seed.
const SLOW_EVERY: u64 = 10;

/// Inputs in a block.
const BLOCK: u64 = 8;

/// Compressions into the slow seed from one time that it is put in use to the next.
const PUBLISH_EVERY: u64 = 50;

/// Number of inputs before the slow seed is put in use for the first time.
const FIRST_PUBLISH: u64 = 100;

/// Number of inputs of a bootstrap.
pub(super) const BOOTSTRAP: u64 = 101;

/// Size of a seed in bits, which limits the uncertainty it can hold.
const SEED: u32 = 512;

/// The uncertainty in each seed, in bits.
#[derive(Debug, Default)]
pub(super) struct Seeds {
    fast: Collected,
    slow: Collected,
    /// Bits in the slow seed that is in use.
    published: u32,
    /// Number of the current bootstrap, and its inputs so far.
    bootstrap: u64,
    bootstrap_inputs: u64,
}

/// Uncertainty in a seed and in the buffer before it, in bits.
#[derive(Debug, Default)]
struct Collected {
    seed: u32,
    waiting: u32,
}

impl Collected {
    /// Adds the seed's input with this number. Returns true if it completed and compressed a block.
    fn add(&mut self, number: u64, bits: u32) -> bool {
        self.waiting += bits;
        let is_full = number % BLOCK == BLOCK - 1;
        if is_full {
            self.seed = (self.seed + self.waiting).min(SEED);
            self.waiting = 0;
        }
        is_full
    }
}

impl Seeds {
    /// Adds the next input, which has `bits` bits of uncertainty.
    pub fn add(&mut self, input: &Input, bits: u32) {
        let number = input.number;
        let slow = number / SLOW_EVERY;
        if number.is_multiple_of(SLOW_EVERY) {
            let compressions = (slow + 1) / BLOCK;
            if self.slow.add(slow, bits) && compressions.is_multiple_of(PUBLISH_EVERY) {
                self.publish();
            }
        } else {
            self.fast.add(number - slow - 1, bits);
        }
        if self.ends_bootstrap(input) || number == FIRST_PUBLISH - 1 {
            self.publish();
        }
    }

    fn ends_bootstrap(&mut self, input: &Input) -> bool {
        if input.bootstraps_before != self.bootstrap {
            self.bootstrap = input.bootstraps_before;
            self.bootstrap_inputs = 0;
        }
        self.bootstrap_inputs += 1;
        self.bootstrap > 0 && self.bootstrap_inputs == BOOTSTRAP
    }

    fn publish(&mut self) {
        self.published = self.slow.seed;
    }

    /// Bits in the fast seed.
    pub fn fast(&self) -> u32 {
        self.fast.seed
    }

    /// Bits in the slow seed that is in use.
    pub fn slow(&self) -> u32 {
        self.published
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(number: u64, bootstraps_before: u64) -> Input {
        Input {
            cycles: 0,
            outputs_before: 0,
            bootstraps_before,
            number,
        }
    }

    /// Of 101 inputs, 90 go to the fast seed, and 88 of these are compressed. The slow seed gets 11, of
    /// which 8 are compressed.
    #[test]
    fn a_bootstrap_leaves_inputs_in_the_buffers() {
        let mut seeds = Seeds::default();
        for number in 0..BOOTSTRAP {
            assert_eq!(seeds.slow(), if number < 100 { 0 } else { 8 });
            seeds.add(&input(number, 1), 1);
        }
        assert_eq!((seeds.fast(), seeds.slow()), (88, 8));
    }

    /// After inputs without uncertainty, the seeds contain only what came later. The slow seed is put
    /// in use at the end of the bootstrap, not before.
    #[test]
    fn a_second_bootstrap_publishes_at_its_end() {
        let mut seeds = Seeds::default();
        (0..BOOTSTRAP + 4).for_each(|number| seeds.add(&input(number, 1), 0));
        for number in 0..BOOTSTRAP {
            assert_eq!(seeds.slow(), 0);
            seeds.add(&input(BOOTSTRAP + 4 + number, 2), 3);
        }
        // Slow inputs are numbers 110 to 200. Numbers 160, 170 and so on still wait.
        assert_eq!(seeds.slow(), 3 * 5);
        assert_eq!(seeds.fast(), 3 * 90);
    }

    #[test]
    fn without_bootstraps_the_slow_seed_is_published_at_input_4000() {
        let mut seeds = Seeds::default();
        (0..=3990).for_each(|number| {
            assert_eq!(seeds.slow(), if number < 100 { 0 } else { 8 });
            seeds.add(&input(number, 0), 1);
        });
        assert_eq!((seeds.fast(), seeds.slow()), (SEED, 400));
    }
}
