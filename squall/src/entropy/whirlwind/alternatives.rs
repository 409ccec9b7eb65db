//! The two alternatives to SHA-512 that Whirlwind's paper names, to compare with.

use aes::Aes256;
use aes::cipher::{Array, BlockCipherEncrypt, KeyInit};
use sha2::block_api::compress256;
use sha2::{Digest, Sha256};

use super::functions::{Functions, WithSha512, sealed};
use squall_drbg::internal::wipe;

/// SHA-256 and its compression function (FIPS 180-4): seeds of 256 bits.
#[derive(Clone, Copy, Debug)]
pub struct WithSha256;

/// SHA-512, with AES-256 in Davies–Meyer mode as the compression function: seeds of 512 bits in
/// four lanes of 128 bits, each encrypted with every 32 bytes of a block as the key.
///
/// Not as strong as its width: a lane alone has 128 bits, and related-key properties of AES-256
/// are not those of an ideal cipher. For comparison; the default is [`WithSha512`].
#[derive(Clone, Copy, Debug)]
pub struct WithDaviesMeyer;

impl Functions for WithSha256 {}
impl Functions for WithDaviesMeyer {}

impl sealed::Functions for WithSha256 {
    const SEED_LEN: usize = 32;
    const BLOCK_LEN: usize = 64;

    fn compress(seed: &mut [u8], block: &[u8]) {
        let mut state: [u32; 8] = core::array::from_fn(|i| {
            u32::from_be_bytes(*seed[4 * i..].first_chunk().expect("a seed has 8 words"))
        });
        let (blocks, _) = block.as_chunks();
        compress256(&mut state, blocks);
        for (place, word) in seed.chunks_exact_mut(4).zip(state) {
            place.copy_from_slice(&word.to_be_bytes());
        }
        wipe(&mut state);
    }

    fn hash(message: &[u8], out: &mut [u8]) {
        let mut hash = Sha256::digest(message);
        out.copy_from_slice(&hash[..out.len()]);
        wipe(&mut hash);
    }
}

impl sealed::Functions for WithDaviesMeyer {
    const SEED_LEN: usize = WithSha512::SEED_LEN;
    const BLOCK_LEN: usize = WithSha512::BLOCK_LEN;

    fn compress(seed: &mut [u8], block: &[u8]) {
        const KEY_LEN: usize = 32;
        const LANE_LEN: usize = 16;
        let (lanes, _) = seed.as_chunks_mut::<LANE_LEN>();
        for key in block.chunks_exact(KEY_LEN) {
            let cipher = Aes256::new_from_slice(key).expect("a key has 32 bytes");
            for lane in lanes.iter_mut() {
                let mut encrypted = Array::from(*lane);
                cipher.encrypt_block(&mut encrypted);
                for (byte, mask) in lane.iter_mut().zip(encrypted) {
                    *byte ^= mask;
                }
                wipe(&mut encrypted);
            }
        }
    }

    fn hash(message: &[u8], out: &mut [u8]) {
        WithSha512::hash(message, out);
    }
}
