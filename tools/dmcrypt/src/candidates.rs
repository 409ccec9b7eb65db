//! The candidates that a kernel is asked about: every mode over every cipher, with every IV and
//! every key length; and which of them mean the same, or need only one measurement.
//!
//! Not included are specifications with several keys (`aes:64-cbc-lmk`, which is loop-AES's, and
//! `lmk` with a nested mode, which means 64 keys too); stream ciphers without a mode
//! (`capi:chacha20-plain64`); and other spellings of the same, such as
//! `capi:essiv(cbc(aes),sha256)-plain64`, which are read as one [`Spec`]. Authenticated ones are derived from what is
//! accepted without authentication.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::rules::{self, Verdict};
use crate::spec::{self, Integrity, Iv, Spec};

/// Key lengths in bits.
///
/// Lengths up to 96 are for Blowfish, CAST5, DES and Serpent, and 0 for the cipher without a key. From
/// 128 on they are the ciphers' own (AES to 256, Anubis to 320, Blowfish to 448). RFC 3686 adds 32 for
/// a nonce, LRW adds 128, XTS doubles the length (to 640 bits), and so does `elephant`. `tcw` adds the
/// IV and 128 bits of whitening (to 896 bits). All are multiples of 32, except CAST5's and Blowfish's
/// 40 and 80.
const KEY_BITS: [u32; 31] = [
    0, 32, 40, 64, 80, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448, 480, 512, 544,
    576, 608, 640, 672, 704, 736, 768, 800, 832, 864, 896,
];

/// The longest key in bits without `tcw`.
const LONGEST: u32 = 640;

/// Every pair of a mode and a cipher, sorted.
pub fn algorithms() -> Vec<(&'static str, &'static str)> {
    let ciphers = |mode| spec::CIPHERS.iter().map(move |(cipher, _)| (mode, *cipher));
    let mut all: Vec<_> = spec::MODES.iter().copied().flat_map(ciphers).collect();
    all.extend(spec::PAIRS);
    all.sort();
    all
}

/// Every candidate for `mode` over `cipher`: by IV, and for each IV the shortest key first, so a
/// refusal that does not depend on the key is found at once.
pub fn specs(mode: &str, cipher: &str) -> Vec<Spec> {
    let has_one_key = |iv: &&&str| **iv != "lmk" || !mode.contains('(');
    let plain = spec::IVS.iter().filter(has_one_key);
    let plain = plain.map(|name| Iv::plain(name));
    let essiv = spec::DIGESTS.iter().map(|(digest, _)| Iv::essiv(digest));
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
    let gcm = gcm.filter(|spec| spec::block_bits(&spec.cipher) == Some(128));
    let gcm = gcm.map(|it| nonced(&it.cipher, spec::AEAD_MODE, it.key_bits, Integrity::Aead));
    let others = [
        nonced("aegis128", "", 128, Integrity::Aead),
        nonced("chacha20", "", 256, Integrity::Poly1305),
    ];
    let is_secure = |spec: &&Spec| rules::judge(spec).0 == Verdict::Secure;
    let secure: Vec<Spec> = accepted.iter().filter(is_secure).cloned().collect();
    let with_macs = groups(&secure).into_iter().flat_map(|(spec, _)| {
        Integrity::MACS.map(|mac| Spec {
            integrity: Some(mac),
            ..spec.clone()
        })
    });
    gcm.chain(others).chain(with_macs).collect()
}

/// The canonical specification that means the same as `spec`; `None` if `spec` is canonical itself.
///
/// ECB is the only mode without an IV, so dm-crypt ignores the name of its IV (`crypt_ctr_ivmode` of
/// drivers/md/dm-crypt.c). No other two specifications are the same: `plain` and `plain64` differ
/// beyond 2 TiB, and `cts(cbc)` swaps the last two blocks of a sector even though they are whole.
pub fn equivalent(spec: &Spec) -> Option<Spec> {
    let canonical = canonical(spec);
    (canonical != *spec).then_some(canonical)
}

fn canonical(spec: &Spec) -> Spec {
    let iv = match spec.mode.as_str() {
        "ecb" => Iv::plain("null"),
        _ => spec.iv.clone(),
    };
    Spec { iv, ..spec.clone() }
}

/// Groups `specs`: each group has the specification to measure and those that it stands for. Members
/// have the same verdict, and mean the same or differ only in ESSIV's digest, which is used only when
/// a table is loaded, or in a key length that AES does not have and that the cipher (Serpent, CAST6)
/// pads to the next longer one, if that is in `specs`. The member with SHA-256 is preferred.
pub fn groups(specs: &[Spec]) -> Vec<(Spec, Vec<Spec>)> {
    let kinds: BTreeSet<(Verdict, Spec)> = specs.iter().map(kind).collect();
    let mut groups: BTreeMap<(Verdict, Spec), Vec<Spec>> = BTreeMap::new();
    for spec in specs {
        let own = kind(spec);
        let mut usual = own.clone();
        usual.1.key_bits = usual_bits(spec);
        let of = if kinds.contains(&usual) { usual } else { own };
        groups.entry(of).or_default().push(spec.clone());
    }
    groups.into_values().filter_map(preferred_member).collect()
}

/// The verdict and specification that all those have in common that differ only in ESSIV's digest.
fn kind(spec: &Spec) -> (Verdict, Spec) {
    let mut kind = canonical(spec);
    kind.iv.digest = None;
    (rules::judge(spec).0, kind)
}

/// The shortest key length of AES in this mode that is not below that of `spec`, if the cipher works
/// the same with it; otherwise the length of `spec`.
fn usual_bits(spec: &Spec) -> u32 {
    let keys = match (spec.cipher.as_str(), spec.mode.as_str()) {
        ("serpent" | "cast6", "xts") => 2,
        ("serpent" | "cast6", "cbc") => 1,
        _ => return spec.key_bits,
    };
    let usual = [128, 192, 256].map(|bits| keys * bits);
    let longer = usual.into_iter().find(|bits| *bits >= spec.key_bits);
    longer.unwrap_or(spec.key_bits)
}

/// The member of `group` to measure, and the others.
fn preferred_member(mut group: Vec<Spec>) -> Option<(Spec, Vec<Spec>)> {
    group.sort_by_cached_key(|spec| (preference(spec), spec.clone()));
    group.dedup();
    let others = group.split_off(1.min(group.len()));
    Some((group.pop()?, others))
}

/// The sort key of a group's members; the lowest is measured.
fn preference(spec: &Spec) -> (Reverse<bool>, Reverse<bool>) {
    let is_usual = match &spec.iv.digest {
        Some(digest) => digest == "sha256",
        None => equivalent(spec).is_none(),
    };
    let has_usual_key = usual_bits(spec) == spec.key_bits;
    (Reverse(has_usual_key), Reverse(is_usual))
}

#[cfg(test)]
pub mod tests {
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

    /// What is measured, and what stands behind it.
    #[rustfmt::skip]
    const GROUPS: [(&str, &[&str]); 11] = [
        ("aes-cbc-essiv:sha256 128", &[]),
        ("aes-cbc-essiv:sha256 256", &["aes-cbc-essiv:blake2b-256 256"]),
        ("aes-ecb-null 256", &["aes-ecb-essiv:md5 256", "aes-ecb-plain 256"]),
        // Only the next longer key of AES is used the same way.
        ("cast6-cbc-essiv:sha256 192", &["cast6-cbc-essiv:blake2b-160 160"]),
        ("serpent-cbc-essiv:sha3-256 128", &[]),
        ("serpent-xts-plain64 384", &["serpent-xts-plain64 288"]),
        ("serpent-xts-plain64 416", &[]),
        ("aes-xts-plain 512", &[]),
        // A secure one stands for none that is not.
        ("aes-cbc-essiv:md5 256", &[]),
        ("aes-cbc-plain64 256", &[]),
        ("serpent-cbc-essiv:md5 128", &[]),
    ];

    #[test]
    fn groups_have_what_needs_one_measurement() {
        let read = |text: &str| text.parse::<Spec>().expect("a specification");
        let expected = GROUPS.map(|(first, behind)| {
            let behind: Vec<Spec> = behind.iter().map(|text| read(text)).collect();
            (read(first), behind)
        });
        // Other names, and one of them twice.
        let all = |(first, behind): &(Spec, Vec<Spec>)| {
            [&behind[..], &[first.clone(), first.clone()]].concat()
        };
        let specs = expected.iter().flat_map(all);
        let mut found = groups(&specs.collect::<Vec<_>>());
        found.sort_by_key(|(first, _)| {
            let place = GROUPS.iter().position(|(text, _)| read(text) == *first);
            place.expect("one that is measured")
        });
        assert_eq!(found, expected);
        assert_eq!(groups(&[]), []);
    }

    #[test]
    fn every_specification_is_in_one_group_of_one_verdict() {
        let specs = tests::some();
        let all = groups(&specs);
        let members = all.iter().map(|(_, behind)| 1 + behind.len());
        assert_eq!(members.sum::<usize>(), specs.len());
        assert!(all.len() < specs.len());
        let verdict = |spec: &Spec| rules::judge(spec).0;
        for (measured, behind) in all {
            assert!(behind.iter().all(|it| verdict(it) == verdict(&measured)));
        }
    }
}
