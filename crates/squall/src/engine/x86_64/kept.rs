//! Keystream of AES-256 under round keys that are kept as plain bytes, XORed into short requests.
//!
//! For requests of a few blocks, the expansion of a key takes three times as long as its use.

use core::arch::x86_64::*;

use super::{BLOCK, RoundKeys, schedule};
use crate::engine::KEPT_KEYS_LEN;
use crate::secret::wipe;

/// Blocks in flight.
const LANES: usize = 4;

/// Expands `key` into bytes to keep.
pub(in crate::engine) fn expand(key: &[u8; 32], kept: &mut [u8; KEPT_KEYS_LEN]) {
    // SAFETY: zeros are a valid vector.
    let mut keys: RoundKeys = unsafe { core::mem::zeroed() };
    schedule::expand_256(key, &mut keys);
    for (place, key) in kept.as_chunks_mut::<BLOCK>().0.iter_mut().zip(keys) {
        // SAFETY: a vector is 16 bytes, any of them valid.
        *place = unsafe { core::mem::transmute::<__m128i, [u8; BLOCK]>(key) };
    }
    zeroize::Zeroize::zeroize(&mut keys);
}

/// XORs the keystream that starts at block `counter` into `out`.
pub(in crate::engine) fn xor_keystream(kept: &[u8; KEPT_KEYS_LEN], counter: u128, out: &mut [u8]) {
    assert!(super::aesni::is_available());
    // SAFETY: AES-NI and SSSE3 were just found.
    unsafe { xor_keystream_aesni(kept, counter, out) }
}

#[target_feature(enable = "aes,ssse3")]
fn xor_keystream_aesni(kept: &[u8; KEPT_KEYS_LEN], counter: u128, out: &mut [u8]) {
    let mut counter = counter;
    let mut rest = out;
    while rest.len() >= LANES * BLOCK {
        let (front, behind) = rest.split_at_mut(LANES * BLOCK);
        xor_blocks::<LANES>(kept, counter, front);
        counter = counter.wrapping_add(LANES as u128);
        rest = behind;
    }
    while rest.len() >= BLOCK {
        let (front, behind) = rest.split_at_mut(BLOCK);
        xor_blocks::<1>(kept, counter, front);
        counter = counter.wrapping_add(1);
        rest = behind;
    }
    if !rest.is_empty() {
        let mut block = [0; BLOCK];
        block[..rest.len()].copy_from_slice(rest);
        xor_blocks::<1>(kept, counter, &mut block);
        rest.copy_from_slice(&block[..rest.len()]);
        wipe(&mut block);
    }
}

/// XORs `N` blocks of keystream into as many of `out`.
#[inline]
#[target_feature(enable = "aes,ssse3")]
fn xor_blocks<const N: usize>(kept: &[u8; KEPT_KEYS_LEN], counter: u128, out: &mut [u8]) {
    let (keys, _) = kept.as_chunks::<BLOCK>();
    let (places, _) = out.as_chunks_mut::<BLOCK>();
    let counter = |i| load(&counter.wrapping_add(i as u128).to_be_bytes());
    let first = load(&keys[0]);
    let mut blocks: [__m128i; N] = core::array::from_fn(|i| _mm_xor_si128(counter(i), first));
    let (last, middle) = keys[1..].split_last().expect("fifteen keys");
    for key in middle {
        let key = load(key);
        for block in &mut blocks {
            *block = _mm_aesenc_si128(*block, key);
        }
    }
    let last = load(last);
    for (place, block) in places.iter_mut().zip(blocks) {
        let keystream = _mm_aesenclast_si128(block, last);
        let masked = _mm_xor_si128(load(place), keystream);
        // SAFETY: 16 bytes are writable behind the reference; the store needs no alignment.
        unsafe { _mm_storeu_si128(place.as_mut_ptr().cast(), masked) };
    }
}

#[inline]
#[target_feature(enable = "sse2")]
fn load(bytes: &[u8; BLOCK]) -> __m128i {
    // SAFETY: 16 bytes are readable behind the reference; the load needs no alignment.
    unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Aes256, Engine, Keystream, Stores};

    #[test]
    fn it_is_the_keystream_of_the_other_engines() {
        if !super::super::aesni::is_available() {
            return println!("SKIP: no AES-NI");
        }
        let key = core::array::from_fn(|i| i as u8);
        let mut kept = [0; KEPT_KEYS_LEN];
        expand(&key, &mut kept);
        let reference = Keystream::<Aes256>::new(&key, Engine::Portable).unwrap();
        for counter in [0, 7, u128::from(u64::MAX) - 1, u128::MAX - 2] {
            for len in 0..=100 {
                let mut out = [0x5a; 100];
                let mut expected = [0; 100];
                reference.fill(counter, &mut expected[..len], Stores::Cached);
                expected[..len].iter_mut().for_each(|byte| *byte ^= 0x5a);
                expected[len..].fill(0x5a);
                xor_keystream(&kept, counter, &mut out[..len]);
                assert_eq!(out, expected, "{len} bytes from block {counter}");
            }
        }
    }
}
