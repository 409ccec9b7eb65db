//! Authenticated specifications in a list, compared with what the kernel accepts over dm-integrity.

use std::collections::BTreeMap;

use super::sample::{Entry, Spec};
use crate::guests::workspace::GuestSession;

/// What is asked about: the specification, its cipher field, the length of its key in bytes and of the
/// metadata of a sector. Some are refused.
#[rustfmt::skip]
const ASKED: [(&str, &str, usize, usize); 17] = [
    ("aegis128-random 128 aead", "aegis128-random", 16, 32),
    ("aegis128-random 256 aead", "aegis128-random", 32, 32),
    ("aes-gcm-random 128 aead", "gcm(aes)-random", 16, 28),
    ("aes-gcm-random 256 aead", "gcm(aes)-random", 32, 28),
    ("aes-gcm-random 512 aead", "gcm(aes)-random", 64, 28),
    ("blowfish-gcm-random 128 aead", "gcm(blowfish)-random", 16, 28),
    ("camellia-gcm-random 192 aead", "gcm(camellia)-random", 24, 28),
    ("cast6-gcm-random 256 aead", "gcm(cast6)-random", 32, 28),
    ("serpent-gcm-random 256 aead", "gcm(serpent)-random", 32, 28),
    ("twofish-gcm-random 320 aead", "gcm(twofish)-random", 40, 28),
    ("chacha20-random 128 poly1305", "rfc7539(chacha20,poly1305)-random", 16, 28),
    ("chacha20-random 256 poly1305", "rfc7539(chacha20,poly1305)-random", 32, 28),
    ("aes-xts-plain64 512 hmac-sha256", "authenc(hmac(sha256),xts(aes))-plain64", 96, 32),
    ("aes-xts-plain64 512 hmac-sha512", "authenc(hmac(sha512),xts(aes))-plain64", 128, 64),
    ("aes-cbc-essiv:sha256 256 hmac-sha256", "authenc(hmac(sha256),cbc(aes))-essiv:sha256", 64, 32),
    ("twofish-xts-plain64 320 hmac-sha256", "authenc(hmac(sha256),xts(twofish))-plain64", 72, 32),
    (
        "xchacha20,aes-adiantum-plain64 256 hmac-sha256",
        "authenc(hmac(sha256),adiantum(xchacha20,aes))-plain64",
        64,
        32,
    ),
];

/// Verdicts, with the rules that they come from.
#[rustfmt::skip]
const VERDICTS: [(&str, &str, &str); 6] = [
    ("aegis128-random 128 aead", "secure", ""),
    ("aes-cbc-essiv:sha256 256 hmac-sha512", "secure", ""),
    ("aes-gcm-random 256 aead", "compatible", "gcm-nonce"),
    ("aes-xts-plain64 512 hmac-sha256", "secure", ""),
    ("chacha20-random 256 poly1305", "compatible", "poly1305-nonce"),
    ("serpent-gcm-random 96 aead", "insecure", "short-key gcm-nonce"),
];

/// Compares the list with answers that dmsetup gets, and checks verdicts.
pub fn are_what_the_kernel_accepts(session: &mut GuestSession, listed: &[Entry]) {
    let verdicts: BTreeMap<String, (&str, String)> = listed
        .iter()
        .map(|entry| (entry.spec.shown(), (entry.verdict.as_str(), entry.rules())))
        .collect();
    for (shown, verdict, rules) in VERDICTS {
        let expected = (verdict, rules.to_owned());
        assert_eq!(verdicts.get(shown), Some(&expected), "{shown}");
    }
    session.ok("dmsetup create zeros --table '0 32768 zero'");
    session.ok("dmsetup create asked --notable");
    for (shown, cipher, key, metadata) in ASKED {
        let tags = format!("0 2048 integrity /dev/mapper/zeros 0 {metadata} D 0");
        session.ok(&format!("dmsetup create tags --table '{tags}'"));
        let key = "5a".repeat(key);
        let table = format!(
            "0 2048 crypt capi:{cipher} {key} 0 /dev/mapper/tags 0 1 integrity:{metadata}:aead"
        );
        let load = format!("dmsetup load asked --table '{table}' >/dev/null 2>&1");
        let answer = session.ok(&format!(
            "{load} && echo yes || echo no; dmsetup clear asked"
        ));
        session.ok("dmsetup remove tags");
        let is_accepted = answer.trim() == "yes";
        assert_eq!(is_accepted, verdicts.contains_key(shown), "{shown}");
    }
    session.ok("dmsetup remove asked && dmsetup remove zeros");
    are_derived_from_what_is_secure(listed);
}

/// HMACs stand over what is secure alone, and nothing else than AEGIS is secure besides.
fn are_derived_from_what_is_secure(listed: &[Entry]) {
    let is_hmac = |spec: &Spec| spec.integrity.iter().any(|word| word.starts_with("hmac-"));
    let secure = listed.iter().filter(|entry| entry.verdict == "secure");
    let others: Vec<String> = secure
        .map(|entry| &entry.spec)
        .filter(|spec| !is_hmac(spec))
        .map(Spec::shown)
        .collect();
    assert_eq!(others, ["aegis128-random 128 aead"]);
    assert!(
        listed
            .iter()
            .all(|entry| !is_hmac(&entry.spec) || entry.verdict == "secure")
    );
}
