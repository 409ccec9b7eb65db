use std::collections::BTreeSet;

use super::*;
use crate::candidates::model;
use crate::integrity::Integrity;
use crate::names::{Names, known};

fn read(text: &str) -> Spec {
    text.parse().unwrap()
}

/// For each rule, a specification whose first reason is that rule, and one with a single difference
/// that the rule does not apply to.
#[rustfmt::skip]
const CASES: &[(&str, &str, &str)] = &[
    ("null-cipher", "cipher_null-cbc-null 0", "aes-cbc-null 128"),
    ("ecb", "aes-ecb-null 256", "aes-cbc-null 256"),
    ("keystream", "twofish-ctr-plain 256", "twofish-xts-plain 256"),
    ("keystream", "aes-ofb-essiv:sha256 256", "aes-cbc-essiv:sha256 256"),
    ("keystream", "aes-ctr-plain64 256 hmac-sha256", "aes-ctr-random 256 hmac-sha256"),
    ("fixed-nonce", "aes-gcm-plain64 256 aead", "aes-gcm-random 256 aead"),
    ("fixed-nonce", "chacha20-plain64 256 poly1305", "aes-xts-plain64 512 hmac-sha256"),
    ("cfb", "aes-cfb-essiv:sha256 256", "aes-cbc-essiv:sha256 256"),
    ("key-wrap", "aes-kw-plain64 256", "aes-xts-plain64 256"),
    ("pcbc", "aes-pcbc-essiv:sha256 256", "aes-cbc-essiv:sha256 256"),
    ("null-iv", "aes-xts-null 512", "aes-xts-plain64 512"),
    ("predictable-iv", "aes-cbc-plain64 256", "aes-xts-plain64 256"),
    ("predictable-iv", "aes-cbc-benbi 256", "aes-cbc-essiv:sha256 256"),
    ("random-iv", "aes-xts-random 256", "aes-xts-plain64 256"),
    ("random-iv", "aes-xts-random 256", "aes-xts-random 256 hmac-sha256"),
    ("gcm-nonce", "aes-gcm-random 256 aead", "aegis128-random 128 aead"),
    ("poly1305-nonce", "chacha20-random 256 poly1305", "aegis128-random 128 aead"),
    ("short-block", "blowfish-cbc-essiv:sha256 256", "aes-cbc-essiv:sha256 256"),
    ("short-key", "serpent-xts-plain64 224", "serpent-xts-plain64 256"),
    ("short-key", "serpent-cbc-essiv:sha256 96", "serpent-cbc-essiv:sha256 128"),
    ("loop-aes", "aes-cbc-lmk 256", "aes-cbc-tcw 512"),
    ("stray-tcw", "aes-xts-tcw 512", "aes-cbc-tcw 512"),
    ("stray-tcw", "camellia-cbc-tcw 512", "serpent-cbc-tcw 512"),
    ("stray-elephant", "aes-xts-elephant 512", "aes-cbc-elephant 512"),
    ("stray-eboiv", "twofish-cbc-eboiv 256", "aes-cbc-eboiv 256"),
    ("lrw-overlap", "aes-lrw-plain64be 384", "aes-lrw-benbi 384"),
    ("no-digest", "serpent-cbc-essiv:crc32c 128", "serpent-cbc-essiv:sha256 128"),
    ("broken-digest", "aes-cbc-essiv:md5 128", "aes-cbc-essiv:blake2s-128 128"),
    ("lrw", "aes-lrw-benbi 384", "aes-xts-plain64 384"),
    ("plain", "aes-xts-plain 512", "aes-xts-plain64 512"),
    ("bitlocker-cbc", "aes-cbc-eboiv 256", "aes-cbc-essiv:sha256 256"),
    ("bitlocker-elephant", "aes-cbc-elephant 512", "aes-cbc-essiv:sha256 256"),
    ("truecrypt", "aes-cbc-tcw 512", "aes-cbc-essiv:sha256 256"),
    ("stealing", "capi:cts(cbc(aes))-essiv:sha256 256", "aes-cbc-essiv:sha256 256"),
    ("needless-essiv", "aes-xts-essiv:sha256 512", "aes-xts-plain64 512"),
    ("foreign-iv", "xchacha12,aes-adiantum-plain64be 256", "xchacha12,aes-adiantum-plain64 256"),
    ("short-digest", "serpent-cbc-essiv:sha224 256", "serpent-cbc-essiv:sha224 224"),
    ("old-digest", "cast6-cbc-essiv:rmd160 160", "cast6-cbc-essiv:blake2b-160 160"),
    ("streebog", "aes-cbc-essiv:streebog256 256", "aes-cbc-essiv:wp256 256"),
    ("obsolete-cipher", "seed-xts-plain64 256", "aria-xts-plain64 256"),
    ("tnepres", "tnepres-xts-plain64 256", "serpent-xts-plain64 256"),
    ("unknown-cipher", "kuznyechik-xts-plain64 512", "sm4-xts-plain64 256"),
    ("unknown-mode", "aes-eme-plain64 256", "aes-hctr2-plain64 256"),
    ("unknown-mode", "chacha20-random 256 hmac-sha256", "chacha20-random 256 poly1305"),
    ("unknown-iv", "aes-xts-plain128 256", "aes-xts-plain64 256"),
    ("unknown-digest", "aes-cbc-essiv:ascon-hash 256", "aes-cbc-essiv:sm3 256"),
];

#[test]
fn each_rule_speaks_against_what_it_is_about_and_not_against_what_is_beside_it() {
    let speak = |text: &str| -> Vec<&str> {
        judge(&read(text))
            .1
            .iter()
            .map(|reason| reason.rule)
            .collect()
    };
    for (rule, bad, beside) in CASES {
        assert_eq!(speak(bad).first(), Some(rule), "{bad}: {:?}", speak(bad));
        assert!(
            !speak(beside).contains(rule),
            "{beside}: {:?}",
            speak(beside)
        );
    }
    let with_case: BTreeSet<&str> = CASES.iter().map(|(rule, ..)| *rule).collect();
    let all: Vec<&str> = table::RULES.iter().map(|rule| rule.reason.rule).collect();
    assert_eq!(BTreeSet::from_iter(all.iter().copied()), with_case);
    assert_eq!(all.len(), with_case.len(), "names are unique");
}

#[test]
fn the_worst_reason_decides_and_is_first() {
    let (verdict, reasons) = judge(&read("seed-cbc-plain 128"));
    let rules: Vec<_> = reasons.iter().map(|reason| reason.rule).collect();
    assert_eq!(rules, ["predictable-iv", "plain", "obsolete-cipher"]);
    assert_eq!(verdict, Verdict::Insecure);
    assert_eq!(judge(&read("aes-xts-plain 512")).0, Verdict::Compatible);
    assert_eq!(
        judge(&read("aes-xts-plain64 512")),
        (Verdict::Secure, vec![])
    );
}

/// The name of an IV is no reason if the mode has no IV.
#[test]
fn ecb_is_not_blamed_for_an_iv_that_it_has_not() {
    let (_, reasons) = judge(&read("aes-ecb-null 256"));
    assert_eq!(reasons.len(), 1, "{reasons:?}");
    assert_eq!(judge(&read("aes-ecb-elephant 128")).1, reasons);
}

#[test]
fn what_is_secure_on_debian_is_what_it_should_be() {
    let secure = model::accepted()
        .into_iter()
        .filter(|spec| judge(spec).0 == Verdict::Secure);
    let secure: Vec<Spec> = secure.collect();
    assert!(secure.len() > 100, "{}", secure.len());
    for spec in &secure {
        let is_studied =
            ["aes", "camellia", "cast6", "serpent", "twofish"].contains(&&*spec.cipher);
        let is_plain64 = spec.iv.to_string() == "plain64";
        let right = match spec.mode.as_str() {
            "xts" => is_studied && is_plain64 && spec.key_bits >= 256,
            "cbc" => is_studied && spec.iv.name == "essiv" && spec.key_bits >= 128,
            "adiantum" => is_plain64 && spec.key_bits == 256,
            _ => false,
        };
        assert!(right, "{spec}");
    }
    for wanted in [
        "aes-xts-plain64 256",
        "cast6-xts-plain64 320",
        "twofish-xts-plain64 512",
        "camellia-cbc-essiv:sha256 128",
        "serpent-cbc-essiv:blake2b-256 256",
        "xchacha20,aes-adiantum-plain64 256",
    ] {
        assert!(secure.contains(&read(wanted)), "{wanted}");
    }
}

/// Authentication does not heal what is wrong with a mode, and what a kernel like Debian's accepts is
/// secure only by AEGIS, or by an HMAC over what is secure alone.
#[test]
fn authenticated_ones_are_secure_in_two_ways() {
    let plain = model::accepted();
    let candidates = crate::candidates::authenticated(&plain);
    assert!(candidates.len() > 80, "{}", candidates.len());
    for spec in candidates {
        let alone = Spec {
            integrity: None,
            ..spec.clone()
        };
        let is_meant = match spec.integrity {
            Some(Integrity::Aead) => spec.cipher == "aegis128",
            Some(Integrity::Poly1305) | None => false,
            Some(_) => judge(&alone).0 == Verdict::Secure,
        };
        let verdict = judge(&spec).0;
        assert_eq!(verdict == Verdict::Secure, is_meant, "{spec}");
        assert_eq!(verdict == Verdict::Insecure, spec.key_bits < 128, "{spec}");
    }
    for text in [
        "aes-ecb-null 256 hmac-sha256",
        "aes-cbc-plain64 256 hmac-sha256",
        "blowfish-cbc-essiv:sha256 256 hmac-sha256",
    ] {
        assert_eq!(judge(&read(text)).0, Verdict::Insecure, "{text}");
    }
}

/// Nothing is secure by oversight: a candidate is secure only in one of the three intended ways, and
/// never with a name that squall does not know.
#[test]
fn nothing_is_secure_by_oversight() {
    let crypto = "name : novel\ntype : cipher\n\nname : new(novel)\ntype : skcipher\n\n\
                  name : adiantum(novel,aes)\ntype : skcipher\n\nname : newer\ntype : shash\n";
    let names = Names::from_texts(crypto, "");
    for (mode, cipher) in crate::candidates::algorithms(&names) {
        for spec in crate::candidates::specs(&mode, &cipher, &names) {
            let is_meant = match (mode.as_str(), spec.iv.name.as_str()) {
                ("adiantum" | "hctr2" | "xts", iv) => iv == "plain64",
                ("cbc", iv) => iv == "essiv",
                _ => false,
            };
            let is_new = [
                &*mode,
                &*cipher,
                spec.iv.digest.as_deref().unwrap_or_default(),
            ]
            .iter()
            .any(|name| name.contains("new") || name.contains("novel"));
            if judge(&spec).0 == Verdict::Secure {
                assert!(is_meant && !is_new, "{spec}");
            }
        }
    }
}

#[test]
fn the_key_of_the_data_is_what_is_left_of_the_whole() {
    for (text, bits) in [
        ("aes-xts-plain64 512", 256),
        ("aes-cbc-plain64 256", 256),
        ("aes-lrw-benbi 384", 256),
        ("aes-cbc-elephant 512", 256),
        ("aes-xts-elephant 512", 128),
        ("aes-cbc-tcw 512", 256),
        ("blowfish-cbc-tcw 640", 448),
        ("xchacha12,aes-adiantum-tcw 640", 256),
        ("capi:rfc3686(ctr(aes))-plain64 160", 128),
        ("aes-ecb-elephant 256", 256),
        ("serpent-lrw-benbi 64", 0),
    ] {
        assert_eq!(data_key_bits(&read(text)), bits, "{text}");
    }
}

#[test]
fn rules_name_only_what_there_is() {
    fn names(when: &When) -> Vec<&'static str> {
        use When::*;
        match when {
            Cipher(names) | Mode(names) | Iv(names) | Digest(names) => names.to_vec(),
            Not(when) => names(when),
            All(some) | Any(some) => some.iter().flat_map(names).collect(),
            _ => vec![],
        }
    }
    let mut known: Vec<&str> = [known::MODES, known::IVS].concat();
    known.extend(
        known::CIPHERS
            .iter()
            .chain(known::DIGESTS)
            .map(|(name, _)| *name),
    );
    known.extend(["adiantum", "essiv", known::AEAD_MODE]);
    for rule in table::RULES {
        let strays: Vec<_> = names(&rule.when)
            .into_iter()
            .filter(|name| !known.contains(name))
            .collect();
        assert!(strays.is_empty(), "{}: {strays:?}", rule.reason.rule);
        let sentence = rule.reason.reason;
        assert!(
            !sentence.ends_with('.') && sentence.len() < 120,
            "{sentence}"
        );
    }
}
