//! Keystream of AES-256 under a key schedule that is kept as plain bytes, XORed into short requests.
//!
//! For requests of a few blocks, expanding a key takes three times as long as using it.

use core::arch::x86_64::*;

use super::{BLOCK, Engine, RoundKeys};
use crate::engine::CACHED_SCHEDULE_LEN;
use crate::secret::wipe;

/// Expands `key` into a schedule of plain bytes.
pub(in crate::engine) fn expand(key: &[u8; 32], schedule: &mut [u8; CACHED_SCHEDULE_LEN]) {
    // SAFETY: zeros are a valid vector.
    let mut keys: RoundKeys = unsafe { core::mem::zeroed() };
    super::schedule::expand_256(key, &mut keys);
    for (place, key) in schedule.as_chunks_mut::<BLOCK>().0.iter_mut().zip(&keys) {
        // SAFETY: a vector is 16 bytes, any of them valid.
        *place = unsafe { core::mem::transmute::<__m128i, [u8; BLOCK]>(*key) };
    }
    zeroize::Zeroize::zeroize(&mut keys);
}

/// XORs the keystream that starts at block `counter` into `out`.
pub(in crate::engine) fn xor_keystream(
    schedule: &[u8; CACHED_SCHEDULE_LEN],
    counter: u128,
    out: &mut [u8],
) {
    assert!(Engine::AesNi.is_available());
    // SAFETY: AES-NI and SSSE3 were just found.
    unsafe { xor_keystream_aesni(schedule, counter, out) }
}

#[target_feature(enable = "aes,ssse3")]
fn xor_keystream_aesni(schedule: &[u8; CACHED_SCHEDULE_LEN], counter: u128, out: &mut [u8]) {
    let mut counter = counter;
    let mut rest = out;
    while rest.len() >= 4 * BLOCK {
        rest = xor_front::<4>(schedule, &mut counter, rest);
    }
    if rest.len() >= 2 * BLOCK {
        rest = xor_front::<2>(schedule, &mut counter, rest);
    }
    if rest.len() >= BLOCK {
        rest = xor_front::<1>(schedule, &mut counter, rest);
    }
    if !rest.is_empty() {
        let mut block = [0; BLOCK];
        block[..rest.len()].copy_from_slice(rest);
        xor_blocks::<1>(schedule, counter, &mut block);
        rest.copy_from_slice(&block[..rest.len()]);
        wipe(&mut block);
    }
}

/// XORs the next `N` blocks into the front of `out` and returns the rest of it.
#[inline]
#[target_feature(enable = "aes,ssse3")]
fn xor_front<'a, const N: usize>(
    schedule: &[u8; CACHED_SCHEDULE_LEN],
    counter: &mut u128,
    out: &'a mut [u8],
) -> &'a mut [u8] {
    let (front, rest) = out.split_at_mut(N * BLOCK);
    xor_blocks::<N>(schedule, *counter, front);
    *counter = counter.wrapping_add(N as u128);
    rest
}

/// XORs `N` blocks of keystream into as many of `out`.
#[inline]
#[target_feature(enable = "aes,ssse3")]
fn xor_blocks<const N: usize>(schedule: &[u8; CACHED_SCHEDULE_LEN], counter: u128, out: &mut [u8]) {
    let (places, _) = out.as_chunks_mut::<BLOCK>();
    let counter = |i| load(&counter.wrapping_add(i as u128).to_be_bytes());
    let first = round_key::<0>(schedule);
    let mut blocks: [__m128i; N] = core::array::from_fn(|i| _mm_xor_si128(counter(i), first));
    super::for_each_literal!(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13 => one_round(&mut blocks, schedule));
    let last = round_key::<14>(schedule);
    for (place, block) in places.iter_mut().zip(blocks) {
        let keystream = _mm_aesenclast_si128(block, last);
        let sum = _mm_xor_si128(load(place), keystream);
        // SAFETY: 16 bytes are writable behind the reference; the store needs no alignment.
        unsafe { _mm_storeu_si128(place.as_mut_ptr().cast(), sum) };
    }
}

/// Round `I` of the cipher, on all blocks.
#[inline]
#[target_feature(enable = "aes,ssse3")]
fn one_round<const I: usize, const N: usize>(
    blocks: &mut [__m128i; N],
    schedule: &[u8; CACHED_SCHEDULE_LEN],
) {
    let key = round_key::<I>(schedule);
    for block in blocks {
        *block = super::aesni::in_order(_mm_aesenc_si128(*block, key));
    }
}

/// The key of round `I`, read from memory at each use.
///
/// Otherwise LLVM reads all keys ahead of the caller's loop and spills those that do not fit into
/// registers to the stack, where nobody wipes them.
#[inline]
#[target_feature(enable = "sse2")]
fn round_key<const I: usize>(schedule: &[u8; CACHED_SCHEDULE_LEN]) -> __m128i {
    const { assert!((I + 1) * BLOCK <= CACHED_SCHEDULE_LEN) };
    if cfg!(miri) {
        return load(&schedule.as_chunks().0[I]);
    }
    let key;
    // SAFETY: reads 16 of the referenced bytes. Volatile, so that these reads keep their order.
    unsafe {
        core::arch::asm!("movdqu {key}, [{schedule} + {at}]",
            schedule = in(reg) schedule.as_ptr(),
            at = const I * BLOCK,
            key = lateout(xmm_reg) key,
            options(readonly, nostack, preserves_flags));
    }
    key
}

#[inline]
#[target_feature(enable = "sse2")]
fn load(bytes: &[u8; BLOCK]) -> __m128i {
    // SAFETY: a vector is 16 bytes, any of them valid. Checked builds of the load intrinsic keep a
    // copy of the key on the stack.
    unsafe { core::mem::transmute::<[u8; 16], __m128i>(*bytes) }
}
