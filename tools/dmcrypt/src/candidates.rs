//! The candidates that a kernel is asked about: every mode over every cipher, with every IV and
//! every key length.
//!
//! Not included are specifications with several keys (`aes:64-cbc-lmk`, which is loop-AES's, and
//! `lmk` with a nested mode, which means 64 keys too); stream ciphers without a mode
//! (`capi:chacha20-plain64`); and other spellings of the same, such as
//! `capi:essiv(cbc(aes),sha256)-plain64`. Authenticated ones are derived from what is accepted without
//! authentication.

use crate::equivalence;
use crate::integrity::Integrity;
use crate::names::{Names, known};
use crate::rules;
use crate::spec::{Iv, Spec};
use crate::verdict::Verdict;

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
        // ECB has no IV, and so no use for what `tcw` adds to the key.
        let longest = match iv.name.as_str() {
            "tcw" if mode != "ecb" => u32::MAX,
            _ => LONGEST,
        };
        let bits = KEY_BITS.into_iter().filter(move |bits| *bits <= longest);
        bits.map(move |key_bits| Spec {
            cipher: cipher.into(),
            mode: mode.into(),
            iv: iv.clone(),
            key_bits,
            integrity: None,
        })
    };
    plain.chain(essiv).flat_map(lengths).collect()
}

/// The authenticated candidates of a kernel that accepts `accepted`: GCM over every cipher that it has
/// in counter mode, which GCM consists of; the ciphers that need no mode; and HMACs over what is secure
/// alone, one digest of ESSIV for all.
pub fn authenticated(accepted: &[Spec]) -> Vec<Spec> {
    let is_block = |spec: &&Spec| known::block_bits(&spec.cipher).is_none_or(|bits| bits == 128);
    let is_counter = |spec: &&Spec| spec.mode == "ctr" && spec.iv == Iv::plain("plain64");
    let gcm = accepted.iter().filter(is_counter).filter(is_block);
    let gcm = gcm.map(|spec| {
        nonced(
            &spec.cipher,
            known::AEAD_MODE,
            spec.key_bits,
            Integrity::Aead,
        )
    });
    let others = [
        nonced("aegis128", "", 128, Integrity::Aead),
        nonced("chacha20", "", 256, Integrity::Poly1305),
    ];
    let is_secure = |spec: &&Spec| rules::judge(spec).0 == Verdict::Secure;
    let secure: Vec<Spec> = accepted.iter().filter(is_secure).cloned().collect();
    let groups = equivalence::groups(&secure).into_iter();
    let with_macs = groups.flat_map(|(spec, _)| {
        Integrity::MACS.map(|mac| Spec {
            integrity: Some(mac),
            ..spec.clone()
        })
    });
    gcm.chain(others).chain(with_macs).collect()
}

/// A specification with a random nonce for each write.
fn nonced(cipher: &str, mode: &str, key_bits: u32, integrity: Integrity) -> Spec {
    Spec {
        cipher: cipher.into(),
        mode: mode.into(),
        iv: Iv::plain("random"),
        key_bits,
        integrity: Some(integrity),
    }
}

#[cfg(test)]
pub mod model;
#[cfg(test)]
mod tests;
