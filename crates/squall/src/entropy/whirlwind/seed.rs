//! A seed that several threads compress into, under a lock that nobody waits for without end.
//!
//! The holder of the lock may have been preempted, or be a thread that a fork did not take along.
//! So whoever does not get it after some tries goes on without. For an input that means that it
//! is lost. For an output it means to use the seed as it is: the holder is about to replace it by
//! its hash, which erases it, and the output's counter keeps outputs apart.
//!
//! The words are atomics, so that reading them while they change is merely odd: a mixture of an
//! old seed's words and a new one's is as unpredictable as either.

use core::hint::spin_loop;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::functions::{Functions, MAX_SEED_LEN};
use crate::secret::Secret;

const WORDS: usize = MAX_SEED_LEN / size_of::<u64>();

/// Tries before a lock is given up: some ten microseconds, forty compressions.
const TRIES: u32 = 1000;

/// A seed as bytes, outside the lock.
pub(super) type SeedBytes = Secret<MAX_SEED_LEN>;

/// A lock over plain atomics. Zeros are an unlocked one.
#[derive(Default)]
pub(super) struct Lock(AtomicU32);

impl Lock {
    /// Runs `work` under the lock; false if it could not be had.
    #[inline]
    pub fn try_with(&self, tries: u32, work: impl FnOnce()) -> bool {
        for _ in 0..tries {
            let taken = self
                .0
                .compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed);
            if taken.is_ok() {
                work();
                self.0.store(0, Ordering::Release);
                return true;
            }
            spin_loop();
        }
        false
    }

    /// Takes the lock from whoever has it: a thread that a fork did not take along.
    pub fn reset(&self) {
        self.0.store(0, Ordering::Release);
    }
}

/// A seed of at most 512 bits. Zeros are one that was never set.
#[derive(Default)]
pub(super) struct Seed {
    lock: Lock,
    words: [AtomicU64; WORDS],
}

impl Seed {
    /// Sets the seed, for whoever is alone with it or does not mind company.
    pub fn store(&self, bytes: &[u8; MAX_SEED_LEN]) {
        for (word, bytes) in self.words.iter().zip(bytes.chunks_exact(size_of::<u64>())) {
            let bytes = bytes.try_into().expect("chunks are words");
            word.store(u64::from_be_bytes(bytes), Ordering::Relaxed);
        }
    }

    /// Copies the seed.
    pub fn load(&self, bytes: &mut [u8; MAX_SEED_LEN]) {
        for (word, bytes) in self
            .words
            .iter()
            .zip(bytes.chunks_exact_mut(size_of::<u64>()))
        {
            bytes.copy_from_slice(&word.load(Ordering::Relaxed).to_be_bytes());
        }
    }

    /// Compresses `block` into the seed; `after` sees the new seed under the lock.
    pub fn compress<F: Functions>(&self, block: &[u8], after: impl FnOnce(&SeedBytes)) -> bool {
        self.lock.try_with(TRIES, || {
            let mut seed = SeedBytes::zeroed();
            self.load(&mut seed);
            F::compress(&mut seed[..F::SEED_LEN], block);
            self.store(&seed);
            after(&seed);
        })
    }

    /// Copies the seed to `old` and replaces it by h(seed, 0) before anyone else can see it.
    pub fn advance<F: Functions>(&self, old: &mut SeedBytes) {
        let zeros = [0; super::functions::MAX_BLOCK_LEN];
        let advanced = self.lock.try_with(TRIES, || {
            self.load(old);
            let mut seed = SeedBytes::zeroed();
            seed.copy_from_slice(&old[..]);
            F::compress(&mut seed[..F::SEED_LEN], &zeros[..F::BLOCK_LEN]);
            self.store(&seed);
        });
        if !advanced {
            self.load(old);
        }
    }

    /// Erases the seed, and frees it of a holder that is gone.
    pub fn wipe(&self) {
        self.store(&[0; MAX_SEED_LEN]);
        self.lock.reset();
    }
}
