//! Buffers of inputs that wait to be compressed: one pair for each of several threads.
//!
//! Threads spread over the shards, so that they seldom meet; where they do, the later one uses
//! the next shard that is free.

use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use super::functions::{Functions, MAX_BLOCK_LEN};
use super::lock::{Held, Lock};
use crate::entropy::INPUT_LEN;
use crate::per_thread::per_thread;
use crate::secret::Secret;

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

/// The buffers of one shard. Zeros are an empty one.
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
    /// This thread's shard, or the next that is free.
    #[inline]
    pub fn lock(shards: &[Shard]) -> (&Shard, Held<'_>) {
        let first = of_this_thread() % shards.len();
        let (behind, from) = shards.split_at(first);
        let free = from
            .iter()
            .chain(behind)
            .find_map(|shard| Some((shard, shard.lock.try_lock()?)));
        free.unwrap_or_else(|| (&shards[first], shards[first].lock.lock()))
    }

    /// Appends `input`; true if that filled the buffer, which is to be [taken](Shard::take) then.
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

    /// Erases the buffers, and frees them of a holder that is gone.
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
        // The capacity itself behind a full buffer.
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

per_thread! {
    /// 0 before the thread has one.
    static NUMBER: AtomicUsize
}

/// A number that this thread keeps: threads that start one after the other get different ones.
#[inline]
pub(super) fn of_this_thread() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(1);
    NUMBER.with(|number| {
        while number.load(Ordering::Relaxed) == 0 {
            number.store(NEXT.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        }
        number.load(Ordering::Relaxed)
    })
}
