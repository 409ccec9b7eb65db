//! AES by VAES on 512-bit registers: four blocks per vector.

use core::arch::x86_64::*;

use super::{BLOCK, RoundKeys, Stores, ctr_loop};

type Vector = __m512i;

ctr_loop!("vaes,avx512f,avx512bw,aes,ssse3", zmm_reg);

#[inline]
#[target_feature(enable = "avx512f")]
fn broadcast(key: __m128i) -> Vector {
    _mm512_broadcast_i32x4(key)
}

/// Four successive counters, each as two little-endian 64-bit halves, the low half first.
#[inline]
#[target_feature(enable = "avx512f")]
fn first_counters(counter: u128) -> Vector {
    let (high, low) = ((counter >> 64) as i64, counter as i64);
    let first = _mm512_set_epi64(high, low, high, low, high, low, high, low);
    _mm512_add_epi64(first, _mm512_set_epi64(0, 3, 0, 2, 0, 1, 0, 0))
}

#[inline]
#[target_feature(enable = "avx512f")]
fn advance(counters: Vector) -> Vector {
    _mm512_add_epi64(counters, _mm512_set_epi64(0, 4, 0, 4, 0, 4, 0, 4))
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn big_endian(counters: Vector) -> Vector {
    let reverse = _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    _mm512_shuffle_epi8(counters, _mm512_broadcast_i32x4(reverse))
}

#[inline]
#[target_feature(enable = "avx512f")]
fn xor(a: Vector, b: Vector) -> Vector {
    _mm512_xor_si512(a, b)
}

#[inline]
#[target_feature(enable = "vaes,avx512f")]
fn round(block: Vector, key: Vector) -> Vector {
    _mm512_aesenc_epi128(block, key)
}

#[inline]
#[target_feature(enable = "vaes,avx512f")]
fn last_round(block: Vector, key: Vector) -> Vector {
    _mm512_aesenclast_epi128(block, key)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store<const STREAMING: bool>(place: &mut [u8], block: Vector) {
    assert!(place.len() == WIDTH);
    let place = place.as_mut_ptr();
    // SAFETY: `place` is WIDTH bytes long; `cached_head` aligned it for streaming stores.
    unsafe {
        if STREAMING && cfg!(miri) {
            place.cast::<Vector>().write(block)
        } else if STREAMING {
            _mm512_stream_si512(place.cast(), block)
        } else {
            _mm512_storeu_si512(place.cast(), block)
        }
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn store_partial(place: &mut [u8], block: Vector) {
    assert!(place.len() < WIDTH);
    let mask = (1u64 << place.len()) - 1;
    // SAFETY: the mask selects the bytes of `place` and no others.
    unsafe { _mm512_mask_storeu_epi8(place.as_mut_ptr().cast(), mask, block) }
}
