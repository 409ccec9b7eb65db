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
use crate::rules::Verdict;
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

/// A small model of what dm-crypt accepts in Debian's Linux 6.12, which gives tests realistic lists.
/// It follows drivers/md/dm-crypt.c, crypto/essiv.c and the modes, over the ciphers of that kernel.
#[cfg(test)]
pub mod model {
    use crate::candidates::{algorithms, specs};
    use crate::names::{Names, known};
    use crate::spec::Spec;

    /// The accepted ones of all candidates.
    pub fn accepted() -> Vec<Spec> {
        let names = Names::from_texts("", "");
        let all = algorithms(&names).into_iter();
        let specs = all.flat_map(|(mode, cipher)| specs(&mode, &cipher, &names));
        specs.filter(accepts).collect()
    }

    /// Whether `cipher` takes keys of `bits`.
    fn is_key(cipher: &str, bits: u32) -> bool {
        match cipher {
            "aes" | "camellia" | "twofish" => matches!(bits, 128 | 192 | 256),
            "blowfish" => (32..=448).contains(&bits),
            "cast5" => (40..=128).contains(&bits),
            "cast6" => (128..=256).contains(&bits) && bits.is_multiple_of(32),
            "cipher_null" => bits == 0,
            "des" | "fcrypt" => bits == 64,
            "des3_ede" => bits == 192,
            "serpent" => bits <= 256,
            "xchacha12,aes" | "xchacha20,aes" => bits == 256,
            _ => false,
        }
    }

    /// Whether `mode` over `cipher` takes keys of `bits`.
    fn is_mode_key(mode: &str, cipher: &str, bits: u32) -> bool {
        let wide = known::block_bits(cipher) == Some(128);
        match mode {
            "adiantum" | "cbc" | "cts(cbc)" | "ecb" | "pcbc" => is_key(cipher, bits),
            "ctr" => cipher != "cipher_null" && is_key(cipher, bits),
            "kw" => wide && is_key(cipher, bits),
            "lrw" => wide && bits >= 128 && is_key(cipher, bits - 128),
            "rfc3686(ctr)" => wide && bits >= 32 && is_key(cipher, bits - 32),
            "xts" => wide && bits.is_multiple_of(16) && is_key(cipher, bits / 2),
            _ => false,
        }
    }

    fn accepts(spec: &Spec) -> bool {
        let (mode, cipher, bits) = (spec.mode.as_str(), spec.cipher.as_str(), spec.key_bits);
        let block = known::block_bits(cipher);
        let iv_bits = match mode {
            "adiantum" => 256,
            "kw" | "rfc3686(ctr)" => 64,
            _ => block.unwrap_or(128).max(64),
        };
        let has_whole_blocks = !matches!(mode, "adiantum" | "ctr" | "rfc3686(ctr)");
        let takes = |bits| is_mode_key(mode, cipher, bits);
        if mode == "ecb" {
            return spec.iv.digest.is_none() && takes(bits);
        }
        match spec.iv.name.as_str() {
            "random" => false,
            "eboiv" => has_whole_blocks && block == Some(iv_bits) && takes(bits),
            "elephant" => {
                let half = bits / 2;
                has_whole_blocks && block == Some(iv_bits) && is_key("aes", half) && takes(half)
            }
            "tcw" => bits > iv_bits + 128 && takes(bits - iv_bits - 128),
            "essiv" => {
                let digest = spec.iv.digest.as_deref().and_then(known::digest_bits);
                let is_salt = digest.is_some_and(|bits| is_key(cipher, bits));
                is_salt && block == Some(iv_bits) && is_here(spec) && takes(bits)
            }
            _ => takes(bits),
        }
    }

    /// Whether Debian's kernel has the digest.
    fn is_here(spec: &Spec) -> bool {
        let absent = ["blake2s", "rmd128", "rmd256", "rmd320", "sm3", "tgr"];
        let digest = spec.iv.digest.as_deref().unwrap_or_default();
        !absent.iter().any(|absent| digest.starts_with(absent))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn names() -> Names {
        Names::from_texts("", "")
    }

    #[test]
    fn every_algorithm_is_there_once_and_sorted() {
        let algorithms = algorithms(&names());
        assert!(algorithms.is_sorted_by(|one, next| one < next));
        for wanted in [
            ("xts", "aes"),
            ("cts(cbc)", "cast6"),
            ("adiantum", "xchacha20,aes"),
        ] {
            let wanted = (wanted.0.to_owned(), wanted.1.to_owned());
            assert!(algorithms.contains(&wanted), "{wanted:?}");
        }
        let is_stray =
            |(mode, cipher): &&(String, String)| (mode == "adiantum") != cipher.contains(',');
        assert_eq!(algorithms.iter().find(is_stray), None);
    }

    #[test]
    fn every_meaning_is_there_once_and_each_iv_in_one_piece() {
        let specs = specs("cbc", "aes", &names());
        let unique: BTreeSet<_> = specs.iter().collect();
        assert_eq!(unique.len(), specs.len());
        let pieces = specs.chunk_by(|one, next| one.iv == next.iv).count();
        assert_eq!(pieces, names().ivs.len() + names().digests.len());
        let rising = specs.chunk_by(|one, next| one.iv == next.iv);
        assert!(
            rising
                .into_iter()
                .all(|piece| piece.is_sorted_by_key(|spec| spec.key_bits))
        );
        for spec in &specs {
            assert_eq!(spec.to_string().parse::<Spec>().as_ref(), Ok(spec));
        }
    }

    #[test]
    fn what_is_known_to_be_accepted_is_among_them() {
        let names = names();
        let all: BTreeSet<String> = algorithms(&names)
            .iter()
            .flat_map(|(mode, cipher)| specs(mode, cipher, &names))
            .map(|spec| spec.to_string())
            .collect();
        for wanted in [
            "aes-xts-plain64 512",
            "aes-cbc-essiv:sha3-256 192",
            "cast6-xts-plain64 320",
            "cast6-lrw-benbi 288",
            "cast5-cbc-plain64 40",
            "blowfish-cbc-plain 448",
            "anubis-xts-plain64 640",
            "aes-cbc-elephant 512",
            "aes-xts-elephant 512",
            "aes-xts-tcw 768",
            "anubis-xts-tcw 896",
            "xchacha12,aes-adiantum-tcw 640",
            "cipher_null-ecb-null 0",
            "serpent-xts-plain64 64",
            "capi:rfc3686(ctr(aes))-plain64 288",
            "capi:cts(cbc(aes))-essiv:sha256 256",
        ] {
            assert!(all.contains(wanted), "{wanted}");
        }
        assert!(!all.contains("capi:cts(cbc(aes))-lmk 256"), "64 keys");
        assert!(all.contains("aes-cbc-lmk 256"));
    }

    #[test]
    fn lengths_of_keys_rise_in_whole_bytes() {
        assert!(KEY_BITS.is_sorted_by(|one, next| one < next));
        assert!(KEY_BITS.iter().all(|bits| bits % 8 == 0));
        assert!(KEY_BITS.contains(&LONGEST));
    }

    #[test]
    fn authenticated_ones_are_made_of_what_is_accepted() {
        let accepted = model::accepted();
        let all = authenticated(&accepted);
        let texts: BTreeSet<String> = all.iter().map(Spec::to_string).collect();
        assert_eq!(texts.len(), all.len());
        for wanted in [
            "aes-gcm-random 128 aead",
            "serpent-gcm-random 256 aead",
            "aegis128-random 128 aead",
            "chacha20-random 256 poly1305",
            "aes-xts-plain64 512 hmac-sha256",
            "aes-cbc-essiv:sha256 256 hmac-sha512",
            "xchacha12,aes-adiantum-plain64 256 hmac-sha256",
        ] {
            assert!(texts.contains(wanted), "{wanted}");
        }
        for stray in [
            "blowfish-gcm-random 128 aead",
            "aes-cbc-essiv:sha3-256 256 hmac-sha256",
            "aes-cbc-plain64 256 hmac-sha256",
        ] {
            assert!(!texts.contains(stray), "{stray}");
        }
        for spec in &all {
            assert_eq!(spec.to_string().parse::<Spec>().as_ref(), Ok(spec));
        }
        let few = authenticated(&[]);
        assert_eq!(few.len(), 2, "ciphers that need no mode");
    }
}
