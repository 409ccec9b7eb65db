//! The hash H and the compression function h of Whirlwind: SHA-512's.
//!
//! All byte strings are big-endian, as the hash standards have them.

use crate::entropy::sha512;
use squall_drbg::internal::wipe;

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

        /// The constants with which the fast and the slow seed begin: the hashes of 1 and 2, as eight bytes.
        fn first_seeds(fast: &mut [u8], slow: &mut [u8]) {
            for (number, seed) in [(1u64, fast), (2, slow)] {
                Self::hash(&number.to_be_bytes(), seed);
            }
        }
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

    /// A new process does not compute them.
    fn first_seeds(fast: &mut [u8], slow: &mut [u8]) {
        fast.copy_from_slice(&FIRST_SEEDS[0]);
        slow.copy_from_slice(&FIRST_SEEDS[1]);
    }
}

#[rustfmt::skip]
const FIRST_SEEDS: [[u8; sha512::HASH_LEN]; 2] = [
    [
        0xdf, 0x9c, 0x47, 0x8c, 0x05, 0x32, 0x10, 0x87, 0xb5, 0x0a, 0x1d, 0x23, 0x9b, 0x4a, 0xab, 0x29,
        0x0e, 0x9b, 0x79, 0x32, 0x52, 0x75, 0x8e, 0x70, 0x6e, 0x24, 0x31, 0x2a, 0xed, 0x21, 0xc2, 0x90,
        0x72, 0x28, 0x5e, 0x43, 0x6a, 0x20, 0xc3, 0xc6, 0x22, 0x7f, 0x99, 0xb7, 0x36, 0x38, 0xf0, 0x41,
        0x4f, 0xba, 0x58, 0x35, 0x58, 0x6f, 0xee, 0x4e, 0x19, 0x23, 0x1c, 0x1e, 0xc5, 0x6d, 0x58, 0xee,
    ],
    [
        0xdf, 0xa8, 0xdb, 0x1c, 0x35, 0x93, 0x19, 0x31, 0xa6, 0x00, 0x7f, 0x85, 0xa9, 0xf4, 0x03, 0x59,
        0x28, 0xcf, 0x15, 0x93, 0x57, 0xff, 0x8d, 0x68, 0x2a, 0x50, 0xb6, 0xa0, 0xf3, 0xdf, 0xa0, 0xe0,
        0x20, 0xed, 0x4e, 0xb3, 0x77, 0xf6, 0x01, 0x14, 0x46, 0xf3, 0x51, 0xf7, 0x00, 0x1b, 0xae, 0x06,
        0x93, 0x2a, 0xd0, 0xcb, 0x66, 0x2e, 0x01, 0xf0, 0x7a, 0xcf, 0x6a, 0xee, 0x25, 0x7d, 0x3b, 0xad,
    ],
];

#[cfg(test)]
mod tests {
    use super::sealed::Functions as _;
    use super::*;

    #[test]
    fn first_seeds_are_hashes() {
        for (number, seed) in (1u64..).zip(FIRST_SEEDS) {
            let mut hash = [0; sha512::HASH_LEN];
            WithSha512::hash(&number.to_be_bytes(), &mut hash);
            assert_eq!(seed, hash);
        }
    }
}
