//! The part of a list that was first found by hand, on Linux 6.12: 2,850 specifications in 55 pairs of a mode and a
//! cipher, out of 21 ciphers × 11 modes × 27 IVs × 10 key lengths. Linux 7.2, on which this runs, lacks some modules
//! and has others.
//!
//! The digests and lengths of that search were not recorded; these are a choice that gives the same
//! result. The IV generators are all of dm-crypt's, and the modes those that `cipher-mode-iv` can name.
//! Everything else in a list has other lengths or digests, or modes that are no block modes for disks
//! or can only be written in the crypto API's notation.

use super::parsed::Spec;

pub const CIPHERS: [&str; 21] = [
    "aes",
    "anubis",
    "aria",
    "blowfish",
    "camellia",
    "cast5",
    "cast6",
    "cipher_null",
    "des",
    "des3_ede",
    "fcrypt",
    "khazad",
    "seed",
    "serpent",
    "sm4",
    "tea",
    "twofish",
    "xchacha12,aes",
    "xchacha20,aes",
    "xeta",
    "xtea",
];

/// `cts`, as in `aes-cts-plain64`, is always refused, because it is a mode over a mode.
pub const MODES: [&str; 11] = [
    "adiantum", "cbc", "cfb", "ctr", "cts", "ecb", "hctr2", "lrw", "ofb", "pcbc", "xts",
];

pub const IVS: [&str; 27] = [
    "benbi",
    "eboiv",
    "elephant",
    "lmk",
    "null",
    "plain",
    "plain64",
    "plain64be",
    "random",
    "tcw",
    "essiv:blake2b-160",
    "essiv:blake2b-256",
    "essiv:crc32",
    "essiv:md4",
    "essiv:md5",
    "essiv:rmd160",
    "essiv:sha1",
    "essiv:sha224",
    "essiv:sha256",
    "essiv:sha3-224",
    "essiv:sha3-256",
    "essiv:sha384",
    "essiv:sha512",
    "essiv:streebog256",
    "essiv:wp256",
    "essiv:wp512",
    "essiv:xxhash64",
];

pub const KEY_BITS: [usize; 10] = [0, 64, 128, 160, 192, 256, 320, 384, 448, 512];

/// Why a specification is not in the grid. None if it is.
pub fn outside(spec: &Spec) -> Option<&'static str> {
    let iv = spec.iv.shown();
    match () {
        _ if !CIPHERS.contains(&spec.cipher.as_str()) => Some("cipher"),
        _ if !MODES.contains(&spec.mode.as_str()) => Some("mode"),
        _ if !IVS.contains(&iv.as_str()) => Some("iv"),
        _ if !KEY_BITS.contains(&spec.key_bits) => Some("length"),
        _ => None,
    }
}
