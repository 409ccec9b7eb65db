//! The candidates that a kernel is asked about: every mode over every cipher, with every IV and
//! every key length.
//!
//! Not included are specifications with several keys (`aes:64-cbc-lmk`, which is loop-AES's, and
//! `lmk` with a nested mode, which means 64 keys too); stream ciphers without a mode
//! (`capi:chacha20-plain64`); and other spellings of the same, such as
//! `capi:essiv(cbc(aes),sha256)-plain64`. Authenticated ones are derived from what is accepted without
//! authentication.

use crate::integrity::Integrity;
use crate::rules::Verdict;
use crate::spec::{Iv, Spec};
use crate::{equivalence, names, rules};

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
pub fn algorithms() -> Vec<(&'static str, &'static str)> {
    let ciphers = |mode| {
        names::CIPHERS
            .iter()
            .map(move |(cipher, _)| (mode, *cipher))
    };
    let mut all: Vec<_> = names::MODES.iter().copied().flat_map(ciphers).collect();
    all.extend(names::PAIRS);
    all.sort();
    all
}

/// Every candidate for `mode` over `cipher`: by IV, and for each IV the shortest key first, so a
/// refusal that does not depend on the key is found at once.
pub fn specs(mode: &str, cipher: &str) -> Vec<Spec> {
    let has_one_key = |iv: &&&str| **iv != "lmk" || !mode.contains('(');
    let plain = names::IVS.iter().filter(has_one_key);
    let plain = plain.map(|name| Iv::plain(name));
    let essiv = names::DIGESTS.iter().map(|(digest, _)| Iv::essiv(digest));
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
    // With a random nonce for each write.
    let nonced = |cipher: &str, mode: &str, key_bits, integrity| Spec {
        cipher: cipher.into(),
        mode: mode.into(),
        iv: Iv::plain("random"),
        key_bits,
        integrity: Some(integrity),
    };
    let is_counter = |spec: &&Spec| spec.mode == "ctr" && spec.iv == Iv::plain("plain64");
    let gcm = accepted.iter().filter(is_counter);
    let gcm = gcm.filter(|spec| names::block_bits(&spec.cipher) == Some(128));
    let gcm = gcm.map(|it| nonced(&it.cipher, names::AEAD_MODE, it.key_bits, Integrity::Aead));
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

#[cfg(test)]
pub mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Some thousand candidates of several ciphers, modes and IVs, as kernels accept them.
    pub fn some() -> Vec<Spec> {
        let ciphers = ["aes", "blowfish", "cast6", "serpent", "xchacha12,aes"];
        let modes = ["adiantum", "cbc", "ctr", "cts(cbc)", "ecb", "lrw", "xts"];
        let digests = ["blake2b-256", "md5", "sha256", "sha3-256"];
        let is_taken = |spec: &Spec| {
            let digest = spec.iv.digest.as_deref();
            digest.is_none_or(|digest| digests.contains(&digest))
                && (64..=512).contains(&spec.key_bits)
                && spec.key_bits.is_multiple_of(64)
        };
        let mut all = algorithms();
        all.retain(|(mode, cipher)| modes.contains(mode) && ciphers.contains(cipher));
        let all = all
            .into_iter()
            .flat_map(|(mode, cipher)| specs(mode, cipher));
        all.filter(is_taken).collect()
    }

    #[test]
    fn authenticated_ones_are_made_of_what_is_accepted() {
        let all = authenticated(&some());
        let texts: BTreeSet<String> = all.iter().map(Spec::to_string).collect();
        assert_eq!(texts.len(), all.len());
        for (text, is_there) in [
            ("aes-gcm-random 128 aead", true),
            ("serpent-gcm-random 256 aead", true),
            ("aegis128-random 128 aead", true),
            ("chacha20-random 256 poly1305", true),
            ("aes-xts-plain64 512 hmac-sha256", true),
            ("aes-cbc-essiv:sha256 256 hmac-sha512", true),
            ("xchacha12,aes-adiantum-plain64 256 hmac-sha256", true),
            ("blowfish-gcm-random 128 aead", false),
            ("aes-cbc-essiv:sha3-256 256 hmac-sha256", false),
            ("aes-cbc-plain64 256 hmac-sha256", false),
        ] {
            assert_eq!(texts.contains(text), is_there, "{text}");
        }
        for spec in &all {
            assert_eq!(spec.to_string().parse::<Spec>().as_ref(), Ok(spec));
        }
        assert_eq!(authenticated(&[]).len(), 2, "ciphers that need no mode");
    }
}
