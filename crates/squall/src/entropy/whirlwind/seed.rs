//! A seed that several threads compress into.
//!
//! The words are atomics: a thread whose [`Lock`] was taken away may still read them while they
//! change. It then makes its result again, from the new ones.

use core::sync::atomic::{AtomicU64, Ordering};

use super::functions::{Functions, MAX_BLOCK_LEN, MAX_SEED_LEN};
use super::lock::Lock;
use crate::secret::Secret;

const WORDS: usize = MAX_SEED_LEN / size_of::<u64>();

/// Times a result is made again because the lock was taken away meanwhile. The last one is stored
/// in any case: an output must not leave a seed behind, and no input shall be lost.
const ATTEMPTS: u32 = 4;

/// A seed as bytes, outside the lock.
pub(super) type SeedBytes = Secret<MAX_SEED_LEN>;

/// A seed of at most 512 bits. Zeros are one that was never set.
#[derive(Default)]
pub(super) struct Seed {
    lock: Lock,
    words: [AtomicU64; WORDS],
}

impl Seed {
    /// Sets the seed, for whoever is alone with it or does not mind company.
    pub fn store(&self, bytes: &[u8; MAX_SEED_LEN]) {
        for (word, bytes) in self.words.iter().zip(bytes.as_chunks().0) {
            word.store(u64::from_be_bytes(*bytes), Ordering::Relaxed);
        }
    }

    /// Copies the seed.
    pub fn load(&self, bytes: &mut [u8; MAX_SEED_LEN]) {
        for (word, bytes) in self.words.iter().zip(bytes.as_chunks_mut().0) {
            *bytes = word.load(Ordering::Relaxed).to_be_bytes();
        }
    }

    /// Compresses `block` into the seed; `after` sees the new seed under the lock.
    pub fn compress<F: Functions>(&self, block: &[u8], after: impl FnOnce(&SeedBytes)) {
        self.replace::<F>(block, &mut SeedBytes::zeroed(), after);
    }

    /// Copies the seed to `old` and replaces it by h(seed, 0), both at once.
    pub fn advance<F: Functions>(&self, old: &mut SeedBytes) {
        let zeros = [0; MAX_BLOCK_LEN];
        self.replace::<F>(&zeros[..F::BLOCK_LEN], old, |_| {});
    }

    fn replace<F: Functions>(
        &self,
        block: &[u8],
        old: &mut SeedBytes,
        after: impl FnOnce(&SeedBytes),
    ) {
        let mut new = SeedBytes::zeroed();
        for attempt in 1.. {
            let held = self.lock.lock();
            self.load(old);
            new.copy_from_slice(&old[..]);
            F::compress(&mut new[..F::SEED_LEN], block);
            if held.is_ours() || attempt == ATTEMPTS {
                self.store(&new);
                return after(&new);
            }
        }
    }

    /// The lock, if it is free.
    #[cfg(test)]
    pub fn try_lock(&self) -> Option<super::lock::Held<'_>> {
        self.lock.try_lock()
    }

    /// Erases the seed, and frees it of a holder that is gone.
    pub fn wipe(&self) {
        self.store(&[0; MAX_SEED_LEN]);
        zeroize::optimization_barrier(&self.words);
        self.lock.reset();
    }
}
