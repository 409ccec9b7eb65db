//! AES in counter mode by ARMv8's instructions.
//!
//! AESE adds a round key before SubBytes and ShiftRows, and AESMC is MixColumns; CPUs execute a pair
//! of them as one if they are adjacent (Arm Neoverse N1, N2 and V1 Software Optimization Guides, "AES
//! encryption/decryption"). Twelve blocks are in flight: a pair takes 2 to 3 cycles, and up to four
//! begin in each. With that many pairs the other vector instructions count, so that there are two for a
//! block, and its store (docs/records/2026-11-25-aarch64.md).
//!
//! Round keys are kept as bytes, so that a schedule which is kept in a page is one like any other.

pub(super) mod cached_schedule;
pub(super) mod schedule;

use core::arch::aarch64::*;

use super::{BLOCK, Engine, Stores};
use crate::hwcap::{Features, has};
use crate::secret::wipe;

/// Round keys of AES-128 (the first 11) or AES-256 (all 15).
pub type RoundKeys = [[u8; BLOCK]; 15];

/// Whether the CPU has AESE and AESMC.
#[inline]
pub(super) fn is_available() -> bool {
    has(Features::AES)
}

/// A key expanded on a CPU that has the instructions.
#[allow(missing_debug_implementations, reason = "keys are never printed")]
pub struct Expanded {
    pub keys: RoundKeys,
}

impl Expanded {
    /// Zeroed round keys.
    #[inline]
    pub fn empty(engine: Engine) -> Expanded {
        assert!(
            engine == Engine::ArmAes && is_available(),
            "this CPU lacks the instructions of engine {engine}"
        );
        Expanded {
            keys: [[0; BLOCK]; 15],
        }
    }

    /// Writes the keystream that starts at block `counter` into `out`.
    ///
    /// The low 64 bits of the counter must not overflow before the last block. All stores go through the
    /// cache.
    #[inline]
    pub fn keystream(&self, rounds: usize, counter: u128, out: &mut [u8], _: Stores) {
        // SAFETY: `empty` found the instructions on this CPU.
        unsafe {
            match rounds {
                10 => run::<10, false>(&self.keys, counter, out),
                _ => run::<14, false>(&self.keys, counter, out),
            }
        }
    }
}

/// Writes keystream for a fixed number of rounds, or XORs it.
#[target_feature(enable = "aes")]
fn run<const ROUNDS: usize, const XOR: bool>(keys: &RoundKeys, counter: u128, out: &mut [u8]) {
    let mut counters = first_counters(counter);
    let mut rest = out;
    while rest.len() >= 12 * BLOCK {
        rest = batch::<12, ROUNDS, XOR>(keys, &mut counters, rest);
    }
    while rest.len() >= 4 * BLOCK {
        rest = batch::<4, ROUNDS, XOR>(keys, &mut counters, rest);
    }
    while rest.len() >= BLOCK {
        rest = batch::<1, ROUNDS, XOR>(keys, &mut counters, rest);
    }
    if !rest.is_empty() {
        let mut block = [0; BLOCK];
        block[..rest.len()].copy_from_slice(rest);
        batch::<1, ROUNDS, XOR>(keys, &mut counters, &mut block);
        rest.copy_from_slice(&block[..rest.len()]);
        // The rest of a block may become key material.
        wipe(&mut block);
    }
}

/// The counter as two 64-bit halves, the high half first.
#[inline]
#[target_feature(enable = "neon")]
fn first_counters(counter: u128) -> uint64x2_t {
    let halves = [(counter >> 64) as u64, counter as u64];
    // SAFETY: a vector is 16 bytes, any of them valid.
    unsafe { core::mem::transmute::<[u64; 2], uint64x2_t>(halves) }
}

/// Writes `N` blocks to the front of `out`, or XORs them into it, and returns the rest of it.
#[inline]
#[target_feature(enable = "aes")]
fn batch<'a, const N: usize, const ROUNDS: usize, const XOR: bool>(
    keys: &RoundKeys,
    counters: &mut uint64x2_t,
    out: &'a mut [u8],
) -> &'a mut [u8]
where
    [uint8x16_t; N]: Encrypt,
{
    let mut blocks = counter_blocks(counters);
    // SAFETY: this CPU has the instructions.
    unsafe { blocks.encrypt::<ROUNDS>(keys) };
    let (places, _) = out.as_chunks_mut::<BLOCK>();
    for (place, block) in places.iter_mut().zip(blocks) {
        let block = if XOR {
            veorq_u8(block, load(place))
        } else {
            block
        };
        // SAFETY: 16 bytes are writable behind the reference; the store needs no alignment.
        unsafe { vst1q_u8(place.as_mut_ptr(), block) };
    }
    &mut out[N * BLOCK..]
}

/// The next `N` counters as blocks.
///
/// They mostly differ in the last byte alone, and then one instruction makes a block.
#[inline]
#[target_feature(enable = "neon")]
fn counter_blocks<const N: usize>(counters: &mut uint64x2_t) -> [uint8x16_t; N] {
    const LOWEST_BYTE: i32 = 8;
    let lowest = vgetq_lane_u8::<LOWEST_BYTE>(vreinterpretq_u8_u64(*counters));
    let first = *counters;
    *counters = plus(first, N as u128);
    let mut blocks = [big_endian(first); N];
    let [first_block, others @ ..] = blocks.as_mut_slice() else {
        return blocks;
    };
    if usize::from(lowest) + N <= 256 {
        for (i, block) in (1u128..).zip(others) {
            *block = vaddq_u8(*first_block, load(&i.to_be_bytes()));
        }
    } else {
        for (i, block) in (1..).zip(others) {
            *block = big_endian(plus(first, i));
        }
    }
    blocks
}

#[inline]
#[target_feature(enable = "neon")]
fn plus(counters: uint64x2_t, blocks: u128) -> uint64x2_t {
    vaddq_u64(counters, first_counters(blocks))
}

#[inline]
#[target_feature(enable = "neon")]
fn big_endian(counters: uint64x2_t) -> uint8x16_t {
    vrev64q_u8(vreinterpretq_u8_u64(counters))
}

/// Blocks that are encrypted side by side.
trait Encrypt {
    /// # Safety
    /// The CPU must have AESE and AESMC.
    unsafe fn encrypt<const ROUNDS: usize>(&mut self, keys: &RoundKeys);
}

/// Implements it for so many blocks, each named.
///
/// By assembly, so that pairs are adjacent, rounds interleaved as written, and nothing goes to the stack,
/// where nobody wipes it: LLVM would read round keys ahead and keep copies there, and the keystream too
/// if it did not inline the function.
macro_rules! encrypt {
    ($count:literal: $($block:ident)*) => {
        impl Encrypt for [uint8x16_t; $count] {
            #[inline]
            #[target_feature(enable = "aes")]
            unsafe fn encrypt<const ROUNDS: usize>(&mut self, keys: &RoundKeys) {
                const { assert!(ROUNDS < size_of::<RoundKeys>() / BLOCK) };
                let [$($block),*] = self;
                // SAFETY: reads the keys up to number `ROUNDS`; the caller guarantees the instructions.
                unsafe {
                    core::arch::asm!(
                        ".rept {pairs}",
                        "ldr {key:q}, [{next}], #16",
                        $(
                            concat!("aese {", stringify!($block), ":v}.16b, {key:v}.16b"),
                            concat!(
                                "aesmc {", stringify!($block), ":v}.16b, ",
                                "{", stringify!($block), ":v}.16b",
                            ),
                        )*
                        ".endr",
                        "ldr {key:q}, [{next}]",
                        $(concat!("aese {", stringify!($block), ":v}.16b, {key:v}.16b"),)*
                        "ldr {key:q}, [{next}, #16]",
                        $(
                            concat!(
                                "eor {", stringify!($block), ":v}.16b, ",
                                "{", stringify!($block), ":v}.16b, {key:v}.16b",
                            ),
                        )*
                        pairs = const ROUNDS - 1,
                        next = inout(reg) keys.as_ptr() => _,
                        key = out(vreg) _,
                        $($block = inout(vreg) *$block,)*
                        options(readonly, nostack, preserves_flags),
                    );
                }
            }
        }
    };
}
encrypt!(1: a);
encrypt!(4: a b c d);
encrypt!(12: a b c d e f g h i j k l);

#[inline]
#[target_feature(enable = "neon")]
fn load(bytes: &[u8; BLOCK]) -> uint8x16_t {
    // SAFETY: 16 bytes are readable behind the reference; the load needs no alignment.
    unsafe { vld1q_u8(bytes.as_ptr()) }
}
