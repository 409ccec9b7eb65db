//! The hash H and the compression function h of Whirlwind, and the two alternatives to SHA-512
//! that the paper names.
//!
//! All byte strings are big-endian, as the hash standards have them.

use aes::Aes256;
use aes::cipher::{Array, BlockCipherEncrypt, KeyInit};
use sha2::block_api::{compress256, compress512};
use sha2::{Sha256, Sha512};

use crate::entropy::hash::hash;
use crate::secret::wipe;

/// Longest seed of any variant, in bytes.
pub(super) const MAX_SEED_LEN: usize = 64;

/// Longest block of any variant, in bytes.
pub(super) const MAX_BLOCK_LEN: usize = 128;

/// The functions that a Whirlwind is made of. Sealed: these three and no others.
pub trait Functions: sealed::Functions {}

pub(super) mod sealed {
    pub trait Functions: Send + Sync + 'static {
        /// Length of a seed and of a hash, in bytes.
        const SEED_LEN: usize;

        /// Length of the block that is compressed into a seed, in bytes.
        const BLOCK_LEN: usize;

        /// h: compresses `block` into `seed`; both have their lengths.
        fn compress(seed: &mut [u8], block: &[u8]);

        /// H: hashes `message` to `out`, at most SEED_LEN bytes.
        fn hash(message: &[u8], out: &mut [u8]);
    }
}

/// SHA-512 and its compression function (FIPS 180-4): seeds of 512 bits. The paper's choice.
#[derive(Clone, Copy, Debug)]
pub struct WithSha512;

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

impl Functions for WithSha512 {}
impl Functions for WithSha256 {}
impl Functions for WithDaviesMeyer {}

impl sealed::Functions for WithSha512 {
    const SEED_LEN: usize = 64;
    const BLOCK_LEN: usize = 128;

    fn compress(seed: &mut [u8], block: &[u8]) {
        let mut state: [u64; 8] = core::array::from_fn(|i| {
            u64::from_be_bytes(*seed[8 * i..].first_chunk().expect("a seed has 8 words"))
        });
        let (blocks, _) = block.as_chunks();
        compress512(&mut state, blocks);
        for (place, word) in seed.chunks_exact_mut(8).zip(state) {
            place.copy_from_slice(&word.to_be_bytes());
        }
        wipe(&mut state);
    }

    fn hash(message: &[u8], out: &mut [u8]) {
        hash::<Sha512>(&[message], out);
    }
}

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
        hash::<Sha256>(&[message], out);
    }
}

impl sealed::Functions for WithDaviesMeyer {
    const SEED_LEN: usize = 64;
    const BLOCK_LEN: usize = 128;

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
        hash::<Sha512>(&[message], out);
    }
}
