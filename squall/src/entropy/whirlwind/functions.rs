//! The hash H and the compression function h of Whirlwind: SHA-512's.
//!
//! All byte strings are big-endian, as the hash standards have them.

use crate::entropy::sha512;
use crate::secret::wipe;

/// Longest seed of any variant, in bytes.
pub(super) const MAX_SEED_LEN: usize = sha512::HASH_LEN;

/// Longest block of any variant, in bytes.
pub(super) const MAX_BLOCK_LEN: usize = sha512::BLOCK_LEN;

/// The functions that a Whirlwind is made of. Sealed: [`WithSha512`], and its two alternatives with the
/// feature `whirlwind-alternatives`.
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

impl Functions for WithSha512 {}

impl sealed::Functions for WithSha512 {
    const SEED_LEN: usize = sha512::HASH_LEN;
    const BLOCK_LEN: usize = sha512::BLOCK_LEN;

    fn compress(seed: &mut [u8], block: &[u8]) {
        let mut state = sha512::words(seed);
        let block = block.first_chunk().expect("it is a block");
        sha512::compress(&mut state, block);
        seed.copy_from_slice(&sha512::to_bytes(&state));
        wipe(&mut state);
    }

    fn hash(message: &[u8], out: &mut [u8]) {
        sha512::hash(&[message], out);
    }
}
