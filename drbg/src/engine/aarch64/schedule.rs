//! AES key expansion (FIPS 197 section 5.2) by AESE, without tables.
//!
//! AESE with a key of zeros is SubBytes and ShiftRows. On a state whose four columns are equal,
//! ShiftRows changes nothing, so one lane of the result is SubWord.

use core::arch::aarch64::*;

use super::{BLOCK, RoundKeys, is_available};

/// Round constants (FIPS 197 section 5.2).
const RCON: [u32; 10] = [0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0x1b, 0x36];

/// Expands a 128-bit key into the first 11 of `keys`.
pub(in crate::engine) fn expand_128(key: &[u8; 16], keys: &mut RoundKeys) {
    assert!(is_available());
    // SAFETY: AESE was just found.
    unsafe {
        expand(
            key.as_chunks().0,
            &mut keys.as_flattened_mut()[..11 * BLOCK],
        )
    }
}

/// Expands a 256-bit key into 15 round keys.
pub(in crate::engine) fn expand_256(key: &[u8; 32], keys: &mut RoundKeys) {
    assert!(is_available());
    // SAFETY: AESE was just found.
    unsafe { expand(key.as_chunks().0, keys.as_flattened_mut()) }
}

/// The words of a key are the first of the schedule, and each later one comes from the one before it and
/// the one a key's length before it.
#[target_feature(enable = "aes")]
fn expand(key: &[[u8; 4]], schedule: &mut [u8]) {
    let (words, _) = schedule.as_chunks_mut::<4>();
    let (first, _) = words.split_at_mut(key.len());
    first.copy_from_slice(key);
    for i in key.len()..words.len() {
        let last = u32::from_le_bytes(words[i - 1]);
        let mixed = match i % key.len() {
            0 => sub_word(last).rotate_right(8) ^ RCON[i / key.len() - 1],
            4 => sub_word(last),
            _ => last,
        };
        words[i] = (mixed ^ u32::from_le_bytes(words[i - key.len()])).to_le_bytes();
    }
}

#[inline]
#[target_feature(enable = "aes")]
fn sub_word(word: u32) -> u32 {
    let columns = vreinterpretq_u8_u32(vdupq_n_u32(word));
    vgetq_lane_u32::<0>(vreinterpretq_u32_u8(vaeseq_u8(columns, vdupq_n_u8(0))))
}
