//! AES key expansion (FIPS 197 section 5.2) by AES-NI, without tables.
//!
//! SubWord comes from the last round of the cipher: on a state whose four columns are equal,
//! ShiftRows changes nothing, so AESENCLAST is SubBytes and the addition of the round constant.
//! On the CPUs measured it takes half the time of AESKEYGENASSIST.

use core::arch::x86_64::*;

use super::{Engine, RoundKeys};

/// Round constants (FIPS 197 section 5.2).
const RCON: [i32; 10] = [0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0x1b, 0x36];

/// Expands a 128-bit key into the first 11 of `keys`.
pub(in crate::engine) fn expand_128(key: &[u8; 16], keys: &mut RoundKeys) {
    assert!(Engine::AesNi.is_available());
    // SAFETY: AES-NI and SSSE3 were just found.
    unsafe { expand_128_aesni(key, keys) }
}

/// Expands a 256-bit key into 15 round keys.
pub(in crate::engine) fn expand_256(key: &[u8; 32], keys: &mut RoundKeys) {
    assert!(Engine::AesNi.is_available());
    // SAFETY: AES-NI and SSSE3 were just found.
    unsafe { expand_256_aesni(key, keys) }
}

#[target_feature(enable = "aes,ssse3")]
fn expand_128_aesni(key: &[u8; 16], keys: &mut RoundKeys) {
    let mut last = load(key);
    keys[0] = last;
    for (place, rcon) in keys[1..=10].iter_mut().zip(RCON) {
        last = _mm_xor_si128(running_xor(last), sub_rot_word(last, rcon));
        *place = last;
    }
}

#[target_feature(enable = "aes,ssse3")]
fn expand_256_aesni(key: &[u8; 32], keys: &mut RoundKeys) {
    let (low, high) = key.split_first_chunk::<16>().expect("32 bytes hold 16");
    let mut even = load(low);
    let mut odd = load(high.try_into().expect("32 bytes are twice 16"));
    for (places, rcon) in keys.chunks_exact_mut(2).zip(RCON) {
        places[0] = even;
        places[1] = odd;
        even = _mm_xor_si128(running_xor(even), sub_rot_word(odd, rcon));
        odd = _mm_xor_si128(running_xor(odd), sub_word(even));
    }
    keys[14] = even;
}

#[inline]
#[target_feature(enable = "sse2")]
fn load(bytes: &[u8; 16]) -> __m128i {
    // SAFETY: a vector is 16 bytes, any of them valid. Checked builds of the load intrinsic keep a
    // copy of the key on the stack.
    unsafe { core::mem::transmute::<[u8; 16], __m128i>(*bytes) }
}

/// SubWord(RotWord(w)) ^ rcon of the last word of `key`, in all four words.
#[inline]
#[target_feature(enable = "aes,ssse3")]
fn sub_rot_word(key: __m128i, rcon: i32) -> __m128i {
    let last_word_rotated = _mm_set1_epi32(0x0c0f_0e0d);
    _mm_aesenclast_si128(
        _mm_shuffle_epi8(key, last_word_rotated),
        _mm_set1_epi32(rcon),
    )
}

/// SubWord(w) of the last word of `key`, in all four words.
#[inline]
#[target_feature(enable = "aes,ssse3")]
fn sub_word(key: __m128i) -> __m128i {
    _mm_aesenclast_si128(_mm_shuffle_epi32::<0xff>(key), _mm_setzero_si128())
}

/// Word i of the result is the XOR of words 0 to i of `key`.
#[inline]
#[target_feature(enable = "sse2")]
fn running_xor(key: __m128i) -> __m128i {
    let key = _mm_xor_si128(key, _mm_slli_si128::<4>(key));
    _mm_xor_si128(key, _mm_slli_si128::<8>(key))
}
