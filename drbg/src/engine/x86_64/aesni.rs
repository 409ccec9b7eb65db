//! AES by AES-NI on 128-bit registers: one block per vector.

use core::arch::x86_64::*;

use super::{BLOCK, RoundKeys, Stores, ctr_loop};

type Vector = __m128i;

ctr_loop!("aes,ssse3", xmm_reg);

#[inline]
#[target_feature(enable = "sse2")]
fn broadcast(key: __m128i) -> Vector {
    key
}

/// The counter as two little-endian 64-bit halves, the low half first.
#[inline]
#[target_feature(enable = "sse2")]
fn first_counters(counter: u128) -> Vector {
    _mm_set_epi64x((counter >> 64) as i64, counter as i64)
}

#[inline]
#[target_feature(enable = "sse2")]
fn advance(counters: Vector) -> Vector {
    _mm_add_epi64(counters, _mm_set_epi64x(0, 1))
}

#[inline]
#[target_feature(enable = "ssse3")]
fn big_endian(counters: Vector) -> Vector {
    let reverse = _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    _mm_shuffle_epi8(counters, reverse)
}

#[inline]
#[target_feature(enable = "sse2")]
fn xor(a: Vector, b: Vector) -> Vector {
    _mm_xor_si128(a, b)
}

#[inline]
#[target_feature(enable = "aes")]
fn round(block: Vector, key: Vector) -> Vector {
    _mm_aesenc_si128(block, key)
}

#[inline]
#[target_feature(enable = "aes")]
fn last_round(block: Vector, key: Vector) -> Vector {
    _mm_aesenclast_si128(block, key)
}

#[inline]
#[target_feature(enable = "sse2")]
fn store<const STREAMING: bool>(place: &mut [u8], block: Vector) {
    assert!(place.len() == WIDTH);
    let place = place.as_mut_ptr();
    // SAFETY: `place` is WIDTH bytes long; `cached_head` aligned it for streaming stores.
    unsafe {
        if STREAMING && cfg!(miri) {
            place.cast::<Vector>().write(block)
        } else if STREAMING {
            _mm_stream_si128(place.cast(), block)
        } else {
            _mm_storeu_si128(place.cast(), block)
        }
    }
}

#[inline]
#[target_feature(enable = "sse2")]
fn store_partial(place: &mut [u8], block: Vector) {
    let mut bytes = [0u8; WIDTH];
    store::<false>(&mut bytes, block);
    super::copy_and_wipe(place, &mut bytes);
}
