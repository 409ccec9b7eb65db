//! AES by VAES on 256-bit registers: two blocks per vector.

use core::arch::x86_64::*;

use super::{BLOCK, RoundKeys, Stores, ctr_loop};

type Vector = __m256i;

ctr_loop!("vaes,avx2,aes,ssse3", ymm_reg);

#[inline]
#[target_feature(enable = "avx2")]
fn broadcast(key: __m128i) -> Vector {
    _mm256_broadcastsi128_si256(key)
}

/// Two successive counters, each as two little-endian 64-bit halves, the low half first.
#[inline]
#[target_feature(enable = "avx2")]
fn first_counters(counter: u128) -> Vector {
    let (high, low) = ((counter >> 64) as i64, counter as i64);
    _mm256_add_epi64(
        _mm256_set_epi64x(high, low, high, low),
        _mm256_set_epi64x(0, 1, 0, 0),
    )
}

#[inline]
#[target_feature(enable = "avx2")]
fn advance(counters: Vector) -> Vector {
    _mm256_add_epi64(counters, _mm256_set_epi64x(0, 2, 0, 2))
}

#[inline]
#[target_feature(enable = "avx2")]
fn big_endian(counters: Vector) -> Vector {
    let reverse = _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    _mm256_shuffle_epi8(counters, _mm256_broadcastsi128_si256(reverse))
}

#[inline]
#[target_feature(enable = "avx2")]
fn xor(a: Vector, b: Vector) -> Vector {
    _mm256_xor_si256(a, b)
}

#[inline]
#[target_feature(enable = "vaes,avx2")]
fn round(block: Vector, key: Vector) -> Vector {
    _mm256_aesenc_epi128(block, key)
}

#[inline]
#[target_feature(enable = "vaes,avx2")]
fn last_round(block: Vector, key: Vector) -> Vector {
    _mm256_aesenclast_epi128(block, key)
}

#[inline]
#[target_feature(enable = "avx2")]
fn store<const STREAMING: bool>(place: &mut [u8], block: Vector) {
    assert!(place.len() == WIDTH);
    let place = place.as_mut_ptr();
    // SAFETY: `place` is WIDTH bytes long; `cached_head` aligned it for streaming stores.
    unsafe {
        if STREAMING && cfg!(miri) {
            place.cast::<Vector>().write(block)
        } else if STREAMING {
            _mm256_stream_si256(place.cast(), block)
        } else {
            _mm256_storeu_si256(place.cast(), block)
        }
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn store_partial(place: &mut [u8], block: Vector) {
    let mut bytes = [0u8; WIDTH];
    store::<false>(&mut bytes, block);
    super::copy_and_wipe(place, &mut bytes);
}
