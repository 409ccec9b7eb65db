//! Buffers of inputs that wait to be compressed: a pair per shard.
//!
//! Threads spread over the shards, so that they seldom meet; where they do, the later one uses
//! the next free shard.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::functions::{Functions, MAX_BLOCK_LEN};
use super::lock::{Lock, LockGuard};
use super::thread_number::thread_number;
use crate::entropy::INPUT_LEN;
use squall_drbg::internal::Secret;

const WORDS: usize = MAX_BLOCK_LEN / size_of::<u64>();
const WORDS_OF_INPUT: usize = INPUT_LEN / size_of::<u64>();

/// A full buffer.
pub(super) type Block = Secret<MAX_BLOCK_LEN>;

/// Which seed an input is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pool {
    Fast,
    Slow,
}

/// The buffers of one shard. All zeros are an empty shard.
#[repr(align(64))]
#[derive(Default)]
pub(super) struct Shard {
    lock: Lock,
    fast: Buffer,
    slow: Buffer,
}

#[derive(Default)]
struct Buffer {
    /// Inputs in the buffer.
    len: AtomicU32,
    words: [AtomicU64; WORDS],
}

impl Shard {
    /// Locks this thread's shard, or the next free one.
    #[inline]
    pub fn lock(shards: &[Shard]) -> (&Shard, LockGuard<'_>) {
        let first = thread_number() % shards.len();
        let (behind, from) = shards.split_at(first);
        let free = from
            .iter()
            .chain(behind)
            .find_map(|shard| Some((shard, shard.lock.try_lock()?)));
        free.unwrap_or_else(|| (&shards[first], shards[first].lock.lock()))
    }

    /// Appends `input`; true if that filled the buffer, which the caller then [takes](Shard::take).
    #[inline]
    pub fn append<F: Functions>(&self, pool: Pool, input: &[u8; INPUT_LEN]) -> bool {
        self.buffer(pool).append::<F>(input)
    }

    /// Moves the inputs of a full buffer to `block` and leaves zeros.
    pub fn take(&self, pool: Pool, block: &mut Block) {
        self.buffer(pool).take(block);
    }

    #[inline]
    fn buffer(&self, pool: Pool) -> &Buffer {
        match pool {
            Pool::Fast => &self.fast,
            Pool::Slow => &self.slow,
        }
    }

    /// Whether the buffers hold any input.
    #[cfg(test)]
    pub fn is_used(&self) -> bool {
        let is_used = |buffer: &Buffer| {
            let mut words = buffer.words.iter();
            words.any(|word| word.load(Ordering::Relaxed) != 0)
                || buffer.len.load(Ordering::Relaxed) != 0
        };
        is_used(&self.fast) || is_used(&self.slow)
    }

    /// Erases the buffers, and frees their lock from a lost holder.
    pub fn wipe(&self) {
        self.lock.reset();
        for buffer in [&self.fast, &self.slow] {
            buffer.len.store(0, Ordering::Relaxed);
            for word in &buffer.words {
                word.store(0, Ordering::Relaxed);
            }
            zeroize::optimization_barrier(&buffer.words);
        }
    }
}

impl Buffer {
    #[inline]
    fn append<F: Functions>(&self, input: &[u8; INPUT_LEN]) -> bool {
        let capacity = F::BLOCK_LEN / INPUT_LEN;
        // `len` is the capacity after the buffer was filled and taken.
        let len = self.len.load(Ordering::Relaxed) as usize % capacity;
        let places = &self.words[len * WORDS_OF_INPUT..][..WORDS_OF_INPUT];
        for (place, word) in places.iter().zip(input.as_chunks().0) {
            place.store(u64::from_be_bytes(*word), Ordering::Relaxed);
        }
        self.len.store((len + 1) as u32, Ordering::Relaxed);
        len + 1 == capacity
    }

    fn take(&self, block: &mut Block) {
        for (word, bytes) in self.words.iter().zip(block.as_chunks_mut().0) {
            *bytes = word.load(Ordering::Relaxed).to_be_bytes();
            word.store(0, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::functions::WithSha512;
    use super::*;

    /// An input that is different for each number.
    fn input(number: u8) -> [u8; INPUT_LEN] {
        [number; INPUT_LEN]
    }

    #[test]
    fn a_full_buffer_gives_its_inputs_in_order_and_keeps_none() {
        let shard = Shard::default();
        for round in [0, 100] {
            for number in 1..=8 {
                let is_full = shard.append::<WithSha512>(Pool::Fast, &input(round + number));
                assert_eq!(is_full, number == 8);
            }
            let mut block = Block::zeroed();
            shard.take(Pool::Fast, &mut block);
            let inputs: [[u8; INPUT_LEN]; 8] = core::array::from_fn(|i| input(round + i as u8 + 1));
            assert_eq!(block[..], *inputs.as_flattened());
            shard.take(Pool::Fast, &mut block);
            assert!(block.iter().all(|&byte| byte == 0));
        }
    }

    #[test]
    fn each_pool_has_a_buffer_of_its_own() {
        let shard = Shard::default();
        shard.append::<WithSha512>(Pool::Fast, &input(1));
        shard.append::<WithSha512>(Pool::Slow, &input(2));
        for (pool, number) in [(Pool::Fast, 1), (Pool::Slow, 2)] {
            let mut block = Block::zeroed();
            shard.take(pool, &mut block);
            assert_eq!(block[..INPUT_LEN], input(number));
        }
    }

    #[test]
    fn a_wiped_shard_is_empty_and_unlocked() {
        for pool in [Pool::Fast, Pool::Slow] {
            let shard = Shard::default();
            core::mem::forget(shard.lock.try_lock());
            shard.append::<WithSha512>(pool, &input(1));
            assert!(shard.is_used());
            shard.wipe();
            assert!(!shard.is_used() && shard.lock.try_lock().is_some());
        }
    }

    #[test]
    fn a_thread_uses_its_own_shard_or_the_next_that_is_free() {
        // Its own is the last, so that all others are behind it.
        let own = thread_number();
        let shards: Vec<Shard> = (0..=own).map(|_| Shard::default()).collect();
        let place = |(shard, _): &(&Shard, LockGuard)| {
            shards.iter().position(|other| core::ptr::eq(other, *shard))
        };
        let held: Vec<(&Shard, LockGuard)> = (0..=own).map(|_| Shard::lock(&shards)).collect();
        let places: Vec<usize> = held.iter().filter_map(place).collect();
        assert_eq!(places, Vec::from_iter([own].into_iter().chain(0..own)));
        // All shards are locked, so the thread takes its own shard's lock away.
        assert_eq!(place(&Shard::lock(&shards)), Some(own));
    }

    /// No other thread can get at a full buffer before its inputs are moved out.
    #[test]
    #[cfg(target_arch = "x86_64")]
    fn a_full_buffer_stays_locked() {
        use crate::entropy::Input;
        use crate::entropy::whirlwind::Whirlwind;
        let whirlwind = Whirlwind::<WithSha512, crate::entropy::ThisMachine, 1>::default();
        let shard = &whirlwind.shards[0];
        let add = || whirlwind.add(Input::new(1, 2, 3));
        // The first input is for the slow seed.
        (0..8).for_each(|_| add());
        let [has_been_full, is_open] = [const { core::cell::Cell::new(false) }; 2];
        let look = |_| {
            let mut words = shard.fast.words.iter();
            let is_full = shard.fast.len.load(Ordering::Relaxed) == 8
                && words.all(|word| word.load(Ordering::Relaxed) != 0);
            if is_full {
                has_been_full.set(true);
            }
            if is_full && shard.lock.try_lock().is_some() {
                is_open.set(true);
            }
        };
        crate::steps::step_through(add, &look);
        assert!(has_been_full.get() && !is_open.get());
    }
}
