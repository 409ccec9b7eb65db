//! AES in counter mode by x86-64 instructions: one file per instruction set, one loop for all.
//!
//! Each file names its vector type and provides a handful of one-instruction operations;
//! `ctr_loop!` builds the same loop from them. An [`Expanded`] proves that the CPU has what its
//! loop needs: it can only be made for an engine that was detected.

pub(super) mod aesni;
pub(super) mod cached_schedule;
pub(super) mod schedule;
pub(super) mod vaes256;
pub(super) mod vaes512;

use core::arch::x86_64::__m128i;

use super::{BLOCK, Engine, Stores};
use crate::secret::wipe;

/// Round keys of AES-128 (the first 11) or AES-256 (all 15).
pub type RoundKeys = [__m128i; 15];

/// A key expanded for a loop that this CPU can run.
#[allow(missing_debug_implementations, reason = "keys are never printed")]
pub struct Expanded {
    engine: Engine,
    pub keys: RoundKeys,
}

impl Expanded {
    /// Zeroed round keys for `engine`.
    ///
    /// Detection is cached, so the check is a load and a test.
    #[inline]
    pub fn empty(engine: Engine) -> Expanded {
        assert!(
            engine.is_aes() && engine.is_available(),
            "this CPU lacks the instructions of engine {engine}"
        );
        // SAFETY: zeros are a valid vector.
        let keys = unsafe { core::mem::zeroed() };
        Expanded { engine, keys }
    }

    /// Writes the keystream that starts at block `counter` into `out`.
    ///
    /// The low 64 bits of the counter must not overflow before the last block.
    #[inline]
    pub fn keystream(&self, rounds: usize, counter: u128, out: &mut [u8], stores: Stores) {
        // SAFETY: `empty` found the instructions of this engine on this CPU.
        unsafe {
            match self.engine {
                Engine::Vaes512 => vaes512::keystream(&self.keys, rounds, counter, out, stores),
                Engine::Vaes256 => vaes256::keystream(&self.keys, rounds, counter, out, stores),
                Engine::AesNi => aesni::keystream(&self.keys, rounds, counter, out, stores),
                _ => unreachable!("`empty` is for the engines above"),
            }
        }
    }
}

/// Builds `keystream` from a file's operations.
///
/// Eight vectors are in flight: enough to hide the latency of one AES round (3 to 5 cycles at
/// one or two rounds a cycle on every core so far). The remainder goes in batches of 4, 2 and 1.
/// Miri has no streaming stores: aligned writes take their places.
macro_rules! ctr_loop {
    ($features:literal, $register:ident) => {
        /// Bytes in one vector.
        const WIDTH: usize = size_of::<Vector>();

        /// Writes the keystream that starts at block `counter` into `out`.
        ///
        /// The low 64 bits of the counter must not overflow before the last block.
        #[target_feature(enable = $features)]
        pub(super) fn keystream(
            keys: &RoundKeys,
            rounds: usize,
            counter: u128,
            out: &mut [u8],
            stores: Stores,
        ) {
            let cached = super::cached_head(out, WIDTH, stores);
            let (head, body) = out.split_at_mut(cached);
            let behind_head = counter.wrapping_add((cached / BLOCK) as u128);
            match rounds {
                10 => {
                    run::<10>(keys, counter, head, false);
                    run::<10>(keys, behind_head, body, true);
                }
                _ => {
                    run::<14>(keys, counter, head, false);
                    run::<14>(keys, behind_head, body, true);
                }
            }
        }

        /// `keystream` for a fixed number of rounds and one kind of stores.
        #[target_feature(enable = $features)]
        fn run<const ROUNDS: usize>(
            keys: &RoundKeys,
            counter: u128,
            out: &mut [u8],
            streaming: bool,
        ) {
            if out.is_empty() {
                return;
            }
            let mut counters = first_counters(counter);
            let mut rest = out;
            while rest.len() >= 8 * WIDTH {
                rest = batch::<8, ROUNDS>(keys, &mut counters, rest, streaming);
            }
            if rest.len() >= 4 * WIDTH {
                rest = batch::<4, ROUNDS>(keys, &mut counters, rest, streaming);
            }
            if rest.len() >= 2 * WIDTH {
                rest = batch::<2, ROUNDS>(keys, &mut counters, rest, streaming);
            }
            if rest.len() >= WIDTH {
                rest = batch::<1, ROUNDS>(keys, &mut counters, rest, streaming);
            }
            if !rest.is_empty() {
                let [last] = encrypt::<1, ROUNDS>(keys, &mut counters);
                store_partial(rest, last);
            }
            if streaming && !cfg!(miri) {
                // Streaming stores are weakly ordered: make them visible before the bytes are
                // handed to another thread.
                _mm_sfence();
            }
        }

        /// Writes `N` vectors to the front of `out` and returns the rest of it.
        #[inline]
        #[target_feature(enable = $features)]
        fn batch<'a, const N: usize, const ROUNDS: usize>(
            keys: &RoundKeys,
            counters: &mut Vector,
            out: &'a mut [u8],
            streaming: bool,
        ) -> &'a mut [u8] {
            let blocks = encrypt::<N, ROUNDS>(keys, counters);
            let (front, rest) = out.split_at_mut(N * WIDTH);
            let places = front.chunks_exact_mut(WIDTH);
            if streaming {
                places.zip(blocks).for_each(|(place, block)| store::<true>(place, block));
            } else {
                places.zip(blocks).for_each(|(place, block)| store::<false>(place, block));
            }
            rest
        }

        /// Keeps the rounds of all blocks interleaved in the order of the source.
        ///
        /// Otherwise LLVM finishes one block after the other to save registers, and AES-256 on 16
        /// registers loses a quarter of its speed: too few blocks fit into the CPU's window.
        #[inline]
        #[target_feature(enable = $features)]
        pub(super) fn in_order(mut block: Vector) -> Vector {
            if cfg!(miri) {
                return block;
            }
            // SAFETY: no instructions; volatile, so that these blocks keep their order.
            unsafe {
                core::arch::asm!("/* {0} */", inout($register) block,
                    options(nomem, nostack, preserves_flags));
            }
            block
        }

        /// Round `I` of the cipher, on all blocks.
        #[inline]
        #[target_feature(enable = $features)]
        fn one_round<const I: usize, const N: usize>(
            blocks: &mut [Vector; N],
            keys: &RoundKeys,
        ) {
            let key = broadcast(keys[I]);
            for block in blocks {
                *block = in_order(round(*block, key));
            }
        }

        /// Encrypts the next `N` vectors of counter blocks.
        ///
        /// Each round reads its key from memory. Otherwise LLVM reads all keys ahead and, where
        /// registers run out, keeps copies on the stack that nobody wipes.
        #[inline]
        #[target_feature(enable = $features)]
        fn encrypt<const N: usize, const ROUNDS: usize>(
            keys: &RoundKeys,
            counters: &mut Vector,
        ) -> [Vector; N] {
            let keys = core::hint::black_box(keys);
            let first_key = broadcast(keys[0]);
            let mut blocks = [*counters; N];
            for block in &mut blocks {
                *block = xor(big_endian(*counters), first_key);
                *counters = advance(*counters);
            }
            // Unrolled by hand: LLVM does not unroll fourteen rounds by itself.
            super::for_each_literal!(1, 2, 3, 4, 5, 6, 7, 8, 9 => one_round(&mut blocks, keys));
            if ROUNDS == 14 {
                super::for_each_literal!(10, 11, 12, 13 => one_round(&mut blocks, keys));
            }
            let last_key = broadcast(keys[ROUNDS]);
            for block in &mut blocks {
                *block = last_round(*block, last_key);
            }
            blocks
        }
    };
}
use ctr_loop;

/// Calls a function once per literal, which is its first const argument.
macro_rules! for_each_literal {
    ($($literal:literal),* => $function:ident($blocks:expr, $keys:expr)) => {
        $($function::<$literal, _>($blocks, $keys);)*
    };
}
use for_each_literal;

/// How many bytes at the front of `out` go through the cache: all of them, or with streaming
/// stores those before the first address aligned to `width`, if a block starts there.
fn cached_head(out: &[u8], width: usize, stores: Stores) -> usize {
    let head = out.as_ptr().align_offset(width);
    match stores {
        Stores::Streaming if head < out.len() && head.is_multiple_of(BLOCK) => head,
        _ => out.len(),
    }
}

/// Copies the front of `bytes` to `place` and wipes `bytes`: the rest of a block may become key
/// material.
fn copy_and_wipe(place: &mut [u8], bytes: &mut [u8]) {
    place.copy_from_slice(&bytes[..place.len()]);
    wipe(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_copied_is_wiped() {
        let (mut place, mut bytes) = ([0; 3], [7; 16]);
        copy_and_wipe(&mut place, &mut bytes);
        assert_eq!((place, bytes), ([7; 3], [0; 16]));
    }

    #[test]
    fn streaming_stores_begin_at_the_first_aligned_block() {
        #[repr(align(64))]
        struct Aligned([u8; 256]);
        let Aligned(bytes) = &Aligned([0; 256]);
        let head = |from: usize, len| cached_head(&bytes[from..][..len], 64, Stores::Streaming);
        assert_eq!(head(0, 192), 0);
        assert_eq!(head(16, 192), 48);
        assert_eq!(head(16, 32), 32);
        // No block starts at an aligned address.
        assert_eq!(head(3, 192), 192);
        assert_eq!(cached_head(&bytes[..192], 64, Stores::Cached), 192);
    }
}
