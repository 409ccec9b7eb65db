//! A seed that several threads compress into.
//!
//! The words are atomics, because a thread whose [`Lock`] was taken away may still read them while
//! they change. It then computes its result again from the new words.

use core::sync::atomic::{AtomicU64, Ordering};

use super::functions::{Functions, MAX_BLOCK_LEN, MAX_SEED_LEN};
use super::lock::Lock;
use squall_drbg::internal::Secret;

const WORDS: usize = MAX_SEED_LEN / size_of::<u64>();

/// A private copy of a seed, as bytes.
pub(super) type SeedBytes = Secret<MAX_SEED_LEN>;

/// A seed of at most 512 bits. All zeros mean that it was never set.
#[derive(Default)]
pub(super) struct Seed {
    lock: Lock,
    words: [AtomicU64; WORDS],
}

impl Seed {
    /// Sets the seed without a lock.
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

    /// Copies the seed to `old` and replaces it by h(seed, 0), atomically.
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
        // A round is repeated only if another thread took the lock away and made its own step.
        loop {
            let held = self.lock.lock();
            self.load(old);
            new.copy_from_slice(&old[..]);
            F::compress(&mut new[..F::SEED_LEN], block);
            // The memory was zeroed: a result made of zeros must not be stored over a new seed.
            if old.iter().all(|&byte| byte == 0) {
                return;
            }
            if held.commit() {
                self.store(&new);
                return after(&new);
            }
        }
    }

    /// Takes the lock if it is free.
    #[cfg(test)]
    pub fn try_lock(&self) -> Option<super::lock::LockGuard<'_>> {
        self.lock.try_lock()
    }

    /// Copies `other` over this seed, even if a lost holder has the lock. If neither seed is known, the
    /// seed is at no moment known.
    pub fn copy_from(&self, other: &Seed) {
        let mut bytes = SeedBytes::zeroed();
        other.load(&mut bytes);
        self.lock.reset();
        self.store(&bytes);
    }

    /// Erases the seed, and frees its lock from a lost holder.
    pub fn wipe(&self) {
        self.store(&[0; MAX_SEED_LEN]);
        zeroize::optimization_barrier(&self.words);
        self.lock.reset();
    }
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::AtomicBool;
    use std::sync::LazyLock;

    use super::super::functions::{WithSha512, sealed};
    use super::*;

    fn bytes_of(seed: &Seed) -> [u8; MAX_SEED_LEN] {
        let mut bytes = SeedBytes::zeroed();
        seed.load(&mut bytes);
        *bytes
    }

    /// A thread that read zeros, because the memory was emptied, must not overwrite a newer seed with
    /// the hash of zeros, which anyone can compute.
    #[test]
    fn nothing_is_computed_from_zeros() {
        let seed = Seed::default();
        seed.compress::<WithSha512>(&[1; MAX_BLOCK_LEN], |_| panic!("nothing was made"));
        assert_eq!(bytes_of(&seed), [0; MAX_SEED_LEN]);
        seed.store(&[7; MAX_SEED_LEN]);
        seed.compress::<WithSha512>(&[1; MAX_BLOCK_LEN], |_| {});
        assert_ne!(bytes_of(&seed), [7; MAX_SEED_LEN]);
    }

    #[test]
    fn a_copy_takes_the_lock_from_slow_holders() {
        let (seed, other) = (Seed::default(), Seed::default());
        seed.store(&[1; MAX_SEED_LEN]);
        other.store(&[2; MAX_SEED_LEN]);
        let slow = seed.try_lock().expect("it is free");
        seed.copy_from(&other);
        assert!(!slow.commit(), "its result would belong to the old seed");
        assert_eq!(bytes_of(&seed), [2; MAX_SEED_LEN]);
    }

    /// A holder that has not lost the lock stores the old seed all the time.
    #[test]
    #[cfg(target_arch = "x86_64")]
    fn a_copy_replaces_what_a_holder_stores() {
        let (seed, other) = (Seed::default(), Seed::default());
        other.store(&[2; MAX_SEED_LEN]);
        core::mem::forget(seed.try_lock());
        let store_old = |_| {
            if seed.try_lock().is_none() {
                seed.store(&[1; MAX_SEED_LEN]);
            }
        };
        crate::steps::step_through(|| seed.copy_from(&other), &store_old);
        assert_eq!(bytes_of(&seed), [2; MAX_SEED_LEN]);
    }

    /// Another thread takes the seed before each instruction, until the lock is held.
    #[test]
    #[cfg(target_arch = "x86_64")]
    fn the_seed_that_is_taken_is_the_one_that_is_replaced() {
        let [seed, before] = [Seed::default(), Seed::default()];
        seed.store(&[1; MAX_SEED_LEN]);
        let was_held = core::cell::Cell::new(false);
        let take_before = |_| {
            was_held.set(was_held.get() || seed.try_lock().is_none());
            if !was_held.get() {
                seed.advance::<WithSha512>(&mut SeedBytes::zeroed());
                before.copy_from(&seed);
            }
        };
        let mut taken = SeedBytes::zeroed();
        let take = || seed.advance::<WithSha512>(&mut taken);
        crate::steps::step_through(take, &take_before);
        assert!(was_held.get());
        assert_eq!(*taken, bytes_of(&before));
    }

    #[test]
    fn a_new_seed_is_shown_under_the_lock() {
        let seed = Seed::default();
        seed.store(&[1; MAX_SEED_LEN]);
        let mut is_held = false;
        let look = |_: &SeedBytes| is_held = seed.try_lock().is_none();
        seed.compress::<WithSha512>(&[3; MAX_BLOCK_LEN], look);
        assert!(is_held);
    }

    static SEEDS: LazyLock<[Seed; 2]> = LazyLock::new(Default::default);

    /// SHA-512's functions, the first of which is overtaken by a thread that replaces the seed.
    struct Overtaken;

    impl Functions for Overtaken {}

    impl sealed::Functions for Overtaken {
        const SEED_LEN: usize = MAX_SEED_LEN;
        const BLOCK_LEN: usize = MAX_BLOCK_LEN;

        fn compress(seed: &mut [u8], block: &[u8]) {
            static IS_OVERTAKEN: AtomicBool = AtomicBool::new(false);
            if !IS_OVERTAKEN.swap(true, Ordering::Relaxed) {
                SEEDS[0].copy_from(&SEEDS[1]);
            }
            WithSha512::compress(seed, block);
        }

        fn hash(message: &[u8], out: &mut [u8]) {
            WithSha512::hash(message, out);
        }
    }

    #[test]
    fn a_thread_that_lost_the_lock_stores_nothing() {
        SEEDS[0].store(&[1; MAX_SEED_LEN]);
        SEEDS[1].store(&[2; MAX_SEED_LEN]);
        let block = [3; MAX_BLOCK_LEN];
        SEEDS[0].compress::<Overtaken>(&block, |_| {});
        let mut expected = [2; MAX_SEED_LEN];
        <WithSha512 as sealed::Functions>::compress(&mut expected, &block);
        assert_eq!(bytes_of(&SEEDS[0]), expected);
    }
}
