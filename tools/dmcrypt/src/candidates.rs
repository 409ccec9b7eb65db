//! The candidates that a kernel is asked about: every mode over every cipher, with every IV and
//! every key length.
//!
//! Not included are specifications with several keys (`aes:64-cbc-lmk`, which is loop-AES's, and
//! `lmk` with a nested mode, which means 64 keys too); authenticated encryption, which needs
//! dm-integrity below it; stream ciphers without a mode (`capi:chacha20-plain64`); and other
//! spellings of the same, such as `capi:essiv(cbc(aes),sha256)-plain64`.

use crate::names::Names;
use crate::spec::{Iv, Spec};

/// Key lengths in bits.
///
/// Lengths up to 96 are for Blowfish, CAST5, DES and Serpent, and 0 for the cipher without a key. From
/// 128 on they are the ciphers' own (AES to 256, Anubis to 320, Blowfish to 448). RFC 3686 adds 32 for
/// a nonce, LRW adds 128, XTS doubles the length (to 640 bits), and so does `elephant`. `tcw` adds the
/// IV and 128 bits of whitening (to 896 bits). All are multiples of 32, except CAST5's and Blowfish's
/// 40 and 80.
pub const KEY_BITS: [u32; 31] = [
    0, 32, 40, 64, 80, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448, 480, 512, 544,
    576, 608, 640, 672, 704, 736, 768, 800, 832, 864, 896,
];

/// The longest key in bits without `tcw`.
const LONGEST: u32 = 640;

/// Every pair of a mode and a cipher, sorted.
pub fn algorithms(names: &Names) -> Vec<(String, String)> {
    let ciphers = |mode: &String| {
        let mode = mode.clone();
        let pair = move |cipher: &String| (mode.clone(), cipher.clone());
        names.ciphers.iter().map(pair)
    };
    let mut all: Vec<_> = names.modes.iter().flat_map(ciphers).collect();
    all.extend(names.pairs.iter().cloned());
    all.sort();
    all.dedup();
    all
}

/// Every candidate for `mode` over `cipher`: by IV, and for each IV the shortest key first, so a
/// refusal that does not depend on the key is found at once.
pub fn specs(mode: &str, cipher: &str, names: &Names) -> Vec<Spec> {
    let has_one_key = |iv: &&String| *iv != "lmk" || !mode.contains('(');
    let plain = names
        .ivs
        .iter()
        .filter(has_one_key)
        .map(|name| Iv::plain(name));
    let essiv = names.digests.iter().map(|digest| Iv::essiv(digest));
    let lengths = |iv: Iv| {
        let longest = if iv.name == "tcw" { u32::MAX } else { LONGEST };
        let bits = KEY_BITS.into_iter().filter(move |bits| *bits <= longest);
        bits.map(move |key_bits| Spec {
            cipher: cipher.into(),
            mode: mode.into(),
            iv: iv.clone(),
            key_bits,
        })
    };
    plain.chain(essiv).flat_map(lengths).collect()
}

#[cfg(test)]
pub mod model;
#[cfg(test)]
mod tests;
