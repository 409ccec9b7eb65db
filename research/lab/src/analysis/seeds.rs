//! Where Whirlwind's inputs are: which ones an output depends on.
//!
//! Eight inputs wait in a buffer before they are compressed. Every tenth input goes to the slow
//! seed, which is put in use at the hundredth input, at the end of each bootstrap, and with each
//! 50th compression. One thread's Whirlwind, of one shard: with more, more inputs wait.

use squall_probe::Input;

/// Every so many inputs, one is for the slow seed.
const SLOW_EVERY: u64 = 10;

/// Inputs of a block.
const BLOCK: u64 = 8;

/// Compressions into the slow seed between two that put it in use.
const PUBLISH_EVERY: u64 = 50;

/// Inputs before the slow seed is put in use for the first time.
const FIRST_PUBLISH: u64 = 100;

/// Inputs of a bootstrap.
pub(super) const BOOTSTRAP: u64 = 101;

/// Bits of a seed: it holds no more uncertainty.
const SEED: u32 = 512;

/// How much uncertainty is where.
#[derive(Debug, Default)]
pub(super) struct Seeds {
    fast: Collected,
    slow: Collected,
    /// What the slow seed in use has.
    published: u32,
    /// The bootstrap that goes on, and its inputs so far.
    bootstrap: u64,
    bootstrap_inputs: u64,
}

/// Uncertainty in a seed, and in the buffer before it.
#[derive(Debug, Default)]
struct Collected {
    seed: u32,
    waiting: u32,
}

impl Collected {
    /// Takes the input with this number among the seed's; true if that compressed a block.
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
    /// Takes the next input, of so many bits.
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

    /// Of 101 inputs, 90 are for the fast seed, of which 88 are in it; 11 for the slow one, of
    /// which 8 are.
    #[test]
    fn a_bootstrap_leaves_inputs_behind() {
        let mut seeds = Seeds::default();
        for number in 0..BOOTSTRAP {
            assert_eq!(seeds.slow(), if number < 100 { 0 } else { 8 });
            seeds.add(&input(number, 1), 1);
        }
        assert_eq!((seeds.fast(), seeds.slow()), (88, 8));
    }

    /// After inputs that counted for nothing, only what came later is in the seeds; the slow one
    /// is put in use at the end of the bootstrap, not before.
    #[test]
    fn a_second_bootstrap_publishes_at_its_end() {
        let mut seeds = Seeds::default();
        (0..BOOTSTRAP + 4).for_each(|number| seeds.add(&input(number, 1), 0));
        for number in 0..BOOTSTRAP {
            assert_eq!(seeds.slow(), 0);
            seeds.add(&input(BOOTSTRAP + 4 + number, 2), 3);
        }
        // Slow inputs are numbers 110 to 200: of those, numbers 160, 170 and so on wait.
        assert_eq!(seeds.slow(), 3 * 5);
        assert_eq!(seeds.fast(), 3 * 90);
    }

    #[test]
    fn without_bootstraps_the_slow_seed_comes_with_the_4000th_input() {
        let mut seeds = Seeds::default();
        (0..=3990).for_each(|number| {
            assert_eq!(seeds.slow(), if number < 100 { 0 } else { 8 });
            seeds.add(&input(number, 0), 1);
        });
        assert_eq!((seeds.fast(), seeds.slow()), (SEED, 400));
    }
}
