//! AES in counter mode by ARMv8's instructions.
//!
//! AESE adds a round key before SubBytes and ShiftRows, and AESMC is MixColumns; CPUs execute a pair
//! of them as one if they are adjacent (Arm Neoverse N1, N2 and V1 Software Optimization Guides, "AES
//! encryption/decryption"). Twelve blocks are in flight: a pair takes 2 to 3 cycles, and up to four
//! begin in each.
//!
//! Round keys are kept as bytes, so that a schedule which is kept in a page is one like any other.

pub(super) mod cached_schedule;
pub(super) mod schedule;

use core::arch::aarch64::*;

use super::{BLOCK, Stores};
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
pub struct Expanded {
    pub keys: RoundKeys,
}

impl Expanded {
    /// Zeroed round keys.
    #[inline]
    pub fn empty() -> Expanded {
        assert!(is_available(), "this CPU lacks AES instructions");
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
) -> &'a mut [u8] {
    let (places, _) = out.as_chunks_mut::<BLOCK>();
    let blocks = encrypt::<N, ROUNDS>(keys, counters);
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

/// Encrypts the next `N` counter blocks.
///
/// Each round reads its key from memory. Otherwise LLVM reads all keys ahead and, where registers run
/// out, keeps copies on the stack that nobody wipes.
#[inline]
#[target_feature(enable = "aes")]
fn encrypt<const N: usize, const ROUNDS: usize>(
    keys: &RoundKeys,
    counters: &mut uint64x2_t,
) -> [uint8x16_t; N] {
    let keys = core::hint::black_box(keys);
    let mut blocks = [vdupq_n_u8(0); N];
    for block in &mut blocks {
        *block = vrev64q_u8(vreinterpretq_u8_u64(*counters));
        *counters = vaddq_u64(*counters, vsetq_lane_u64::<1>(1, vdupq_n_u64(0)));
    }
    for key in &keys[..ROUNDS - 1] {
        let key = load(key);
        for block in &mut blocks {
            *block = in_order(vaesmcq_u8(vaeseq_u8(*block, key)));
        }
    }
    let (before_last, last) = (load(&keys[ROUNDS - 1]), load(&keys[ROUNDS]));
    for block in &mut blocks {
        *block = veorq_u8(vaeseq_u8(*block, before_last), last);
    }
    blocks
}

/// Keeps the rounds of all blocks interleaved, as written.
///
/// Otherwise LLVM may finish one block after the other, and too few fit into the CPU's window.
#[inline]
#[target_feature(enable = "neon")]
fn in_order(mut block: uint8x16_t) -> uint8x16_t {
    // SAFETY: no instructions; volatile, so that these blocks keep their order.
    unsafe {
        core::arch::asm!("/* {0:v} */", inout(vreg) block,
            options(nomem, nostack, preserves_flags));
    }
    block
}

#[inline]
#[target_feature(enable = "neon")]
fn load(bytes: &[u8; BLOCK]) -> uint8x16_t {
    // SAFETY: 16 bytes are readable behind the reference; the load needs no alignment.
    unsafe { vld1q_u8(bytes.as_ptr()) }
}
