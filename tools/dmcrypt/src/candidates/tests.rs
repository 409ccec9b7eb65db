use std::collections::BTreeSet;

use super::*;

fn names() -> Names {
    Names::of("", "")
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
