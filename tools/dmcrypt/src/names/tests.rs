use super::*;

/// Part of /proc/crypto of Linux 6.12 with aesni_intel, camellia and adiantum loaded.
const CRYPTO: &str = include_str!("proc-crypto.txt");

/// Part of modules.alias of the same kernel.
const ALIASES: &str = "\
# Aliases extracted from modules themselves.
alias crypto-wp512 wp512
alias crypto-serpent-asm serpent_avx2
alias crypto-serpent serpent_avx2
alias crypto-xts-aes-aesni aesni_intel
alias crypto-aegis128-aesni aegis128_aesni
alias crypto-sha3-512-generic sha3_generic
alias crypto-drbg_nopr_hmac_sha512 drbg
alias crypto-ecdsa-nist-p256 ecdsa_generic
alias crypto-ffdhe2048(dh) dh_generic
alias crypto-cts(cbc(anew)) anew
alias crypto-lz4hc lz4hc
alias crypto-vmac64 vmac
alias crypto-novel novel
alias crypto-novel-avx2 novel_avx2
alias crypto-bad:word bad
alias crypto-
alias
alias pci:v00008086d00001F18sv*sd*bc*sc*i* intel_qat
alias essiv essiv
";

fn found() -> Names {
    let known = Names::of("", "");
    let mut found = Names::of(CRYPTO, ALIASES);
    found.ciphers.retain(|name| !known.ciphers.contains(name));
    found.modes.retain(|name| !known.modes.contains(name));
    found.pairs.retain(|pair| !known.pairs.contains(pair));
    found.digests.retain(|name| !known.digests.contains(name));
    found
}

fn sorted(names: &BTreeSet<String>) -> Vec<&str> {
    names.iter().map(String::as_str).collect()
}

#[test]
fn a_machine_that_tells_nothing_has_the_known_names() {
    let names = Names::of("", "");
    assert_eq!(names.ciphers.len(), known::CIPHERS.len());
    assert_eq!(names.digests.len(), known::DIGESTS.len());
    assert!(names.modes.contains("xts") && names.ivs.contains("plain64"));
    assert!(
        names
            .pairs
            .contains(&("adiantum".into(), "xchacha12,aes".into()))
    );
}

#[test]
fn what_is_new_is_found_and_nothing_else() {
    let found = found();
    assert_eq!(sorted(&found.ciphers), ["anew", "kuznyechik", "novel"]);
    assert_eq!(sorted(&found.modes), ["eme", "novel"]);
    assert_eq!(sorted(&found.digests), ["ascon-hash", "novel"]);
    let pair = |cipher: &str| ("adiantum".to_owned(), cipher.to_owned());
    assert_eq!(found.pairs, BTreeSet::from([pair("xchacha8,aes")]));
}

#[test]
fn a_word_is_tried_as_everything_only_if_nothing_is_known_of_it() {
    let names = |aliases: &str| Names::of("", aliases);
    let none = names("");
    assert_eq!(
        names("alias crypto-novel-avx2 x\nalias crypto-novel x")
            .digests
            .len(),
        none.digests.len() + 1
    );
    assert_ne!(
        names("alias crypto-lz5 lz5"),
        none,
        "control: an unknown word"
    );
    for known in known::OTHERS {
        assert_eq!(names(&format!("alias crypto-{known} x")), none, "{known}");
        assert_eq!(
            names(&format!("alias crypto-{known}-generic x")),
            none,
            "{known}"
        );
    }
}

/// Every word in the module aliases of Debian's Linux 6.12 is known.
#[test]
fn the_words_of_a_whole_kernel_are_known() {
    let words = include_str!("aliases-6.12.txt").split_whitespace();
    let lines: Vec<String> = words
        .map(|word| format!("alias crypto-{word} module"))
        .collect();
    assert!(lines.len() > 150);
    assert_eq!(Names::of("", &lines.join("\n")), Names::of("", ""));
}

#[test]
fn the_lists_of_names_are_sorted_and_disjoint() {
    let of = |table: &[(&'static str, u32)]| table.iter().map(|(name, _)| *name).collect();
    let lists: [Vec<&str>; 4] = [
        of(known::CIPHERS),
        of(known::DIGESTS),
        known::MODES.into(),
        known::IVS.into(),
    ];
    for list in &lists {
        assert!(list.is_sorted_by(|one, next| one < next), "{list:?}");
    }
    let all: Vec<&str> = lists[..3].concat();
    for name in all {
        assert!(!is_other(name) || name.contains('('), "{name}");
    }
}

#[test]
fn this_machine_can_be_looked_at() {
    assert!(Names::collect().ciphers.contains("aes"));
}
