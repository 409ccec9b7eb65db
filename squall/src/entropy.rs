//! Where seeds come from.
//!
//! ```text
//!   cycle counter ──┐            events of the guards: thread starts, reseeds,
//!                   │            clones, emptied pages, refills
//!   CPU's random ──┤                           │
//!   instruction     │ health tests             │ inputs of 128 bits
//!                   ▼                          ▼
//!             ┌───────────────  root: Whirlwind  ───────────────┐
//!             │  buffers, a pair a shard                        │
//!             │     9 of 10 inputs │             │ 1 of 10      │
//!             │                    ▼             ▼              │
//!             │                fast seed     slow seed          │
//!             │                    │             │ now and then │
//!             │                    ▼             ▼              │
//!             │     H(3 | fast | slow | outputs | cycles | …)   │
//!             └────────────────────────┬────────────────────────┘
//!   kernel's RNG, 48 bytes             │ 48 bytes
//!             └──────────┬─────────────┘
//!                        ▼
//!                     SHA-512  ──▶  a thread's seed, 48 bytes
//! ```
//!
//! The 3 tells outputs from the constants that seeds begin as, which are hashes of 1 and 2;
//! `outputs` counts blocks of output; the dots are process, CPU and 256 bits of the random
//! instruction. A new root's first inputs are words of the random instruction, or a bootstrap.
//!
//! Either source suffices: if the kernel's bytes or the root's cannot be predicted, the seed cannot
//! be predicted either. Nothing here estimates entropy. The machine's noise is collected, tested for
//! being stuck, and hashed in. That there is enough of it is a claim about the kernel's RNG, and a
//! claim of Whirlwind's paper about its bootstrap; the code makes none.
//!
//! The root, [`whirlwind`], may be used by itself. [`Accumulator`] is the interface that other
//! accumulators have in common with it.
//!
//! Nothing in this module guards against forks and clones: a copy of an accumulator's memory is a
//! second accumulator with the same state. The root lives in guarded memory, and begins anew in a
//! forked child.

pub(crate) mod cpu;
mod health;
mod input;
pub(crate) mod kernel;
mod machine;
mod sha512;
pub mod whirlwind;

pub use input::{Accumulator, INPUT_LEN, Input};
pub use machine::{HARDWARE_LEN, Machine, ThisMachine};

use core::sync::atomic::{AtomicU64, Ordering};

use crate::failpoint::{self, Failpoint};
use squall_drbg::internal::Secret;

/// Length of a seed, in bytes: `seedlen` of CTR_DRBG with AES-256.
pub(crate) const SEED_LEN: usize = 48;

/// A seed, as strong as the kernel's RNG (256 bits), wiped when dropped.
pub(crate) type Seed = Secret<SEED_LEN>;

/// Bytes from an accumulator that go into a seed.
pub(crate) type RootBytes = Secret<SEED_LEN>;

/// Makes a seed from the kernel's bytes and an accumulator's: if either cannot be predicted, the
/// seed cannot be.
pub(crate) fn seed(kernel: &[u8; SEED_LEN], root: &RootBytes, seed: &mut Seed) {
    let unless_zeroed = |part, failpoint| {
        if failpoint::is_active(failpoint) {
            &[0; SEED_LEN]
        } else {
            part
        }
    };
    let parts: [&[u8]; 3] = [
        b"squall seed 2",
        unless_zeroed(kernel, Failpoint::ZeroKernelBytes),
        unless_zeroed(root, Failpoint::ZeroRootBytes),
    ];
    sha512::hash(&parts, &mut seed[..]);
}

/// Replaces the root's bytes where no state may be used: writes a cycle count, and 256 bits from the
/// CPU's random instruction.
pub(crate) fn stateless_root_bytes(bytes: &mut RootBytes) {
    let words = additional_input::<5>();
    for (place, word) in bytes.as_chunks_mut().0.iter_mut().zip(words) {
        *place = word.to_le_bytes();
    }
}

/// Additional input for a request: the cycle counter, and random words of the CPU or more counts.
///
/// It makes requests differ that would otherwise be equal, above all those of VM clones. How
/// unpredictable output is does not depend on it.
pub(crate) fn additional_input<const WORDS: usize>() -> [u64; WORDS] {
    if failpoint::is_active(Failpoint::ZeroAdditionalInput) {
        return [0; WORDS];
    }
    core::array::from_fn(|i| match i {
        0 => cpu::read_counter(),
        _ => cpu::random_word().unwrap_or_else(word_of_counts),
    })
}

/// Replaces a word of the random instruction.
#[cold]
fn word_of_counts() -> u64 {
    static HISTORY: History = History::new();
    HISTORY.add(cpu::fine_count())
}

/// All cycle counts that this process has read in place of random words, condensed into one. Clones that
/// once read different counts get different words from then on, even if they read equal counts later.
struct History(AtomicU64);

impl History {
    const fn new() -> History {
        History(AtomicU64::new(0))
    }

    /// Adds a count, by a step of a linear congruential generator with the multiplier of Knuth's MMIX (The
    /// Art of Computer Programming, section 3.3.4) and an odd increment. Under one increment its period is 2^64
    /// (section 3.2.1.2, theorem A), so words differ even if the counter stands still.
    fn add(&self, count: u64) -> u64 {
        let step = |state: u64| {
            state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(count << 1 | 1)
        };
        let mut state = self.0.load(Ordering::Relaxed);
        loop {
            let next = step(state);
            let stored =
                self.0
                    .compare_exchange_weak(state, next, Ordering::Relaxed, Ordering::Relaxed);
            match stored {
                Ok(_) => return next,
                Err(changed) => state = changed,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::{Digest, Sha512};

    #[test]
    fn a_seed_is_a_hash_of_both_parts() {
        let mut root = RootBytes::zeroed();
        root.copy_from_slice(&[2; SEED_LEN]);
        let mut made = Seed::zeroed();
        seed(&[1; SEED_LEN], &root, &mut made);
        let message = [&b"squall seed 2"[..], &[1; SEED_LEN], &[2; SEED_LEN]].concat();
        assert_eq!(made[..], Sha512::digest(message)[..SEED_LEN]);
    }

    #[test]
    fn additional_input_changes() {
        let first = additional_input::<2>();
        // A slow counter may show the same twice.
        assert!((0..10_000).any(|_| additional_input::<2>() != first));
    }

    #[test]
    fn words_differ_even_if_the_counter_stands_still() {
        for count in [0, 7, u64::MAX] {
            let history = History::new();
            let mut words: Vec<_> = (0..1000).map(|_| history.add(count)).collect();
            words.sort_unstable();
            words.dedup();
            assert_eq!(words.len(), 1000);
        }
    }

    #[test]
    fn clones_that_read_another_count_once_stay_different() {
        let clones = [3, 4].map(|first| {
            let history = History::new();
            history.add(first);
            history
        });
        for count in 10..1000 {
            let [one, other] = clones.each_ref().map(|history| history.add(count));
            assert_ne!(one, other);
        }
        // The control: equal counts give equal words.
        let [one, other] = [History::new(), History::new()];
        assert_eq!(one.add(3), other.add(3));
        assert_eq!(one.add(10), other.add(10));
    }

    #[test]
    fn additional_input_begins_with_the_cycle_counter() {
        // Another CPU's counter may differ.
        let is_counter = |_| {
            let before = cpu::cycles();
            let [first] = additional_input::<1>();
            (before..=cpu::cycles()).contains(&first)
        };
        assert!((0..100).any(is_counter));
    }

    #[test]
    fn stateless_root_bytes_fill_five_words() {
        let mut bytes = RootBytes::zeroed();
        stateless_root_bytes(&mut bytes);
        let words: Vec<[u8; 8]> = bytes.as_chunks().0.to_vec();
        assert!(words[..5].iter().all(|word| *word != [0; 8]));
        assert_eq!(words[5], [0; 8]);
    }
}
