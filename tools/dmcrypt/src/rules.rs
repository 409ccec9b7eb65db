//! Judges whether a specification is fit to protect a disk, by a table of rules.
//!
//! A specification is secure if no rule applies to it. There are rules against every cipher, mode and
//! digest that squall does not know, so nothing is secure by oversight.

use std::cmp::Reverse;

use schemars::JsonSchema;
use serde::Serialize;

use crate::spec::{self, Integrity, Spec};
use Verdict::*;
use When::*;

/// What a specification is fit for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Fit for new disks.
    Secure,
    /// Only for disks that another program made this way.
    Compatible,
    /// Fit for nothing.
    Insecure,
}

/// Why a specification is not secure: a line of the table of rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Reason {
    /// The rule's name.
    pub rule: &'static str,
    /// The best verdict that a specification can have against which this rule speaks.
    pub verdict: Verdict,
    /// What is wrong, a sentence without its full stop.
    pub reason: &'static str,
    /// The source of the claim.
    pub source: &'static str,
}

/// The verdict on `spec`, with every reason against it, worst first.
pub fn judge(spec: &Spec) -> (Verdict, Vec<Reason>) {
    let against = RULES.iter().filter(|rule| rule.when.holds(spec));
    let mut reasons: Vec<Reason> = against.map(|rule| rule.reason).collect();
    reasons.sort_by_key(|reason| Reverse(reason.verdict));
    let worst = reasons
        .first()
        .map_or(Verdict::Secure, |reason| reason.verdict);
    (worst, reasons)
}

/// Bits of whitening in the key of a `tcw` table.
const WHITENING: u32 = 128;

/// Bits of the key under which the cipher of `spec` encrypts data. The rest of the key is for tweaks,
/// IVs, a diffuser, whitening or a nonce.
pub fn data_key_bits(spec: &Spec) -> u32 {
    let whole = match (spec.iv.name.as_str(), ignores_iv(spec)) {
        ("elephant", false) => spec.key_bits / 2,
        ("tcw", false) => spec.key_bits.saturating_sub(iv_bits(spec) + WHITENING),
        _ => spec.key_bits,
    };
    match spec.mode.as_str() {
        "xts" => whole / 2,
        "lrw" => whole.saturating_sub(128),
        "rfc3686(ctr)" => whole.saturating_sub(32),
        _ => whole,
    }
}

/// Whether the mode has no IV, so that the IV's name means nothing.
fn ignores_iv(spec: &Spec) -> bool {
    spec.mode == "ecb"
}

/// A reason against specifications, and the condition under which it applies.
struct Rule {
    reason: Reason,
    when: When,
}

/// The rules, most serious first.
#[rustfmt::skip]
const RULES: &[Rule] = &[
    rule("null-cipher", Insecure, Cipher(&["cipher_null"]), "it encrypts nothing", "Linux, crypto/crypto_null.c"),
    rule("ecb", Insecure, Mode(&["ecb"]), "equal blocks of plaintext give equal blocks of ciphertext, wherever they are", "NIST SP 800-38A, 6.1"),
    rule("keystream", Insecure, All(&[Mode(&["ctr", "xctr", "ofb", "rfc3686(ctr)"]), Not(&STORED_IV)]), "rewriting a sector reuses its keystream, which cancels out when old and new ciphertext are XORed", "NIST SP 800-38A, 6.4 and appendix B"),
    rule("fixed-nonce", Insecure, All(&[NONCED, Not(&Iv(&["random"]))]), "rewriting a sector uses its nonce again, which reveals what changed and allows forgeries", "NIST SP 800-38D, 8; RFC 8439, section 4; Wu and Preneel 2016, AEGIS"),
    rule("cfb", Insecure, Mode(&["cfb"]), "rewriting a sector reuses its keystream, up to and including the first block that differs", "NIST SP 800-38A, 6.3 and appendix C"),
    rule("key-wrap", Insecure, Mode(&["kw"]), "it is made for keys and adds a check value, which a disk has no room for: nothing can be read back", "NIST SP 800-38F; Linux, crypto/keywrap.c"),
    rule("pcbc", Insecure, Mode(&["pcbc"]), "its only advantage over CBC, that errors spread, is lost when two blocks change places", "Kohl 1989, The Use of Encryption in Kerberos for Network Authentication"),
    rule("null-iv", Insecure, Iv(&["null"]), "every sector has the same IV, so equal sectors give equal ciphertext", "Linux, drivers/md/dm-crypt.c (null)"),
    rule("predictable-iv", Insecure, CBC_BY_NUMBER, "the IVs are predictable: anybody can make a file that is recognised on the disk without the key", "Fruhwirth 2005, New Methods in Hard Disk Encryption; NIST SP 800-38A, appendix C"),
    rule("random-iv", Insecure, All(&[Iv(&["random"]), Not(&STORED_IV)]), "the IV is stored only with dm-integrity: without it nothing can be read back", "Linux, drivers/md/dm-crypt.c (random)"),
    rule("short-block", Insecure, Block(64), "with blocks of 64 bits, collisions are expected after 32 GiB, and each reveals something about the data", "Bhargavan and Leurent 2016, On the Practical (In-)Security of 64-bit Block Ciphers"),
    rule("short-key", Insecure, KeyBelow(128), "too few bits of key encrypt the data: at least 128 keep it secret for long (256 in XTS, which takes two keys)", "BSI TR-02102-1 (120 bits at least); NIST SP 800-57 part 1, 5.6.1 (112)"),
    rule("loop-aes", Insecure, Iv(&["lmk"]), "loop-AES uses it with 64 keys; with one key it is compatible with nothing, and the IV contains no secret", "Linux, drivers/md/dm-crypt.c (lmk)"),
    rule("stray-tcw", Insecure, All(&[Iv(&["tcw"]), Not(&TRUECRYPT)]), "only TrueCrypt used it, with its ciphers in CBC; anything else is compatible with nothing, and its security is unknown", "Linux, drivers/md/dm-crypt.c (tcw)"),
    rule("stray-elephant", Insecure, All(&[Iv(&["elephant"]), Not(&BITLOCKER)]), "only BitLocker uses it, with AES in CBC; anything else is compatible with nothing, and its security is unknown", "Linux, drivers/md/dm-crypt.c (elephant)"),
    rule("stray-eboiv", Insecure, All(&[Iv(&["eboiv"]), Not(&BITLOCKER)]), "only BitLocker uses it, with AES in CBC; anything else is compatible with nothing, and its security is unknown", "Linux, drivers/md/dm-crypt.c (eboiv)"),
    rule("lrw-overlap", Insecure, All(&[Mode(&["lrw"]), Iv(&["plain64be"])]), "LRW counts blocks from the sector number on, so neighbouring sectors share tweaks", "Linux, crypto/lrw.c and drivers/md/dm-crypt.c (benbi)"),
    rule("no-digest", Insecure, Digest(&["crc32", "crc32c", "crc64-rocksoft", "crct10dif", "digest_null", "poly1305", "xxhash64"]), "ESSIV's key comes from a checksum, which is not a one-way function", "Fruhwirth 2005, New Methods in Hard Disk Encryption"),
    rule("broken-digest", Insecure, Digest(&["md4", "md5", "sha1"]), "ESSIV's key comes from a broken digest, although the attacks do not affect what ESSIV needs", "RFC 6150 (MD4); RFC 6151 (MD5); Stevens et al. 2017, The First Collision for Full SHA-1"),

    rule("gcm-nonce", Compatible, All(&[Mode(&["gcm"]), Iv(&["random"])]), "with random nonces of 96 bits a key is good for 2^32 sectors only, and one repeated nonce allows forgeries", "NIST SP 800-38D, 8.3; cryptsetup 2.0.0, release notes (not for production)"),
    rule("poly1305-nonce", Compatible, All(&[By(Integrity::Poly1305), Iv(&["random"])]), "random nonces of 96 bits repeat with a chance that is not negligible, and one that does allows forgeries", "cryptsetup 2.0.4, release notes; RFC 8439, section 4"),
    rule("lrw", Compatible, Mode(&["lrw"]), "it becomes insecure if its own key is written to the disk, for example to swap; XTS has replaced it", "Halevi and Krawczyk 2007, Security under Key-Dependent Inputs"),
    rule("plain", Compatible, Iv(&["plain"]), "the IV holds 32 bits of the sector number, so IVs repeat beyond 2 TiB", "Linux, drivers/md/dm-crypt.c (plain)"),
    rule("bitlocker-cbc", Compatible, All(&[Iv(&["eboiv"]), BITLOCKER]), "BitLocker's format: IVs are encrypted with the key of the data, which was shown to be insecure", "Rogaway 2011, Evaluation of Some Blockcipher Modes of Operation"),
    rule("bitlocker-elephant", Compatible, All(&[Iv(&["elephant"]), BITLOCKER]), "BitLocker's format until Windows 8: CBC with a diffuser that has no security proof", "Ferguson 2006, AES-CBC + Elephant Diffuser"),
    rule("truecrypt", Compatible, All(&[Iv(&["tcw"]), TRUECRYPT]), "TrueCrypt's format before 4.1: anybody can make a file that is recognised on the disk without the key", "Linux, drivers/md/dm-crypt.c (tcw)"),
    rule("stealing", Compatible, Mode(&["cts(cbc)"]), "it gains nothing over CBC: sectors are whole blocks, so ciphertext stealing only swaps the last two", "NIST SP 800-38A, addendum"),
    rule("needless-essiv", Compatible, All(&[TWEAKED, Iv(&["essiv"])]), "the mode encrypts its tweak itself, so ESSIV gains nothing over plain64", "IEEE 1619; NIST SP 800-38E"),
    rule("foreign-iv", Compatible, All(&[TWEAKED, Iv(&["benbi", "plain64be"])]), "it encodes the sector number as other formats do, which gains nothing over plain64", "IEEE 1619; Linux, drivers/md/dm-crypt.c"),
    rule("short-digest", Compatible, DigestBelowKey, "ESSIV's digest is shorter than the key of the data, so the IVs are easier to guess than the data", "Linux, crypto/essiv.c"),
    rule("old-digest", Compatible, Digest(&["rmd128", "rmd160", "rmd256", "rmd320", "tgr128", "tgr160", "tgr192"]), "ESSIV's digest is from a family that Linux has dropped, except for RIPEMD-160", "Linux 5.12, crypto/Kconfig"),
    rule("streebog", Compatible, Digest(&["streebog256", "streebog512"]), "ESSIV's digest has a hidden structure that its designers have not explained", "Perrin 2019, Partitions in the S-Box of Streebog and Kuznyechik"),
    rule("obsolete-cipher", Compatible, Cipher(&["anubis", "arc4", "khazad", "seed", "tea", "xeta", "xtea"]), "Linux keeps this cipher only for those who still depend on it", "Linux, crypto/Kconfig (CRYPTO_USER_API_ENABLE_OBSOLETE)"),
    rule("tnepres", Compatible, Cipher(&["tnepres"]), "it is Serpent with its bytes in the wrong order, which Linux has dropped", "Linux 5.12, crypto/serpent_generic.c"),
    rule("unknown-cipher", Compatible, UnknownCipher, "squall does not know this cipher and cannot judge it", "squall's list of ciphers"),
    rule("unknown-mode", Compatible, UnknownMode, "squall does not know this mode and cannot judge it", "squall's list of modes"),
    rule("unknown-iv", Compatible, UnknownIv, "squall does not know this IV generator and cannot judge it", "squall's list of IVs"),
    rule("unknown-digest", Compatible, UnknownDigest, "squall does not know this digest and cannot judge it", "squall's list of digests"),
];

/// CBC and modes built like it, with an IV derived from the sector number.
const CBC_BY_NUMBER: When = All(&[
    Mode(&["cbc", "cts(cbc)", "pcbc"]),
    Iv(&["benbi", "plain", "plain64", "plain64be"]),
]);

/// The cipher and mode that BitLocker uses its own IVs with.
const BITLOCKER: When = All(&[Cipher(&["aes"]), Mode(&["cbc"])]);

/// The ciphers and mode that TrueCrypt used before it had LRW.
const TRUECRYPT: When = All(&[
    Cipher(&["aes", "blowfish", "cast5", "des3_ede", "serpent", "twofish"]),
    Mode(&["cbc"]),
]);

/// A new random IV for each write, which dm-integrity stores.
const STORED_IV: When = All(&[Iv(&["random"]), Authenticated]);

/// What needs a nonce that is never used twice.
const NONCED: When = Any(&[By(Integrity::Aead), By(Integrity::Poly1305)]);

/// Modes whose IV is a tweak, which need not be secret.
const TWEAKED: When = Mode(&["adiantum", "hctr2", "xts"]);

const fn rule(
    rule: &'static str,
    verdict: Verdict,
    when: When,
    reason: &'static str,
    source: &'static str,
) -> Rule {
    let reason = Reason {
        rule,
        verdict,
        reason,
        source,
    };
    Rule { reason, when }
}

/// A condition on a specification.
enum When {
    Cipher(&'static [&'static str]),
    /// The cipher, or pair of ciphers, is in none of squall's lists.
    UnknownCipher,
    /// The cipher's blocks have this many bits.
    Block(u32),
    Mode(&'static [&'static str]),
    /// The mode is in none of squall's lists.
    UnknownMode,
    /// The mode has an IV, and its generator is one of these.
    Iv(&'static [&'static str]),
    /// The mode has an IV, and squall does not know its generator.
    UnknownIv,
    /// ESSIV's digest is one of these.
    Digest(&'static [&'static str]),
    /// ESSIV's digest is in none of squall's lists.
    UnknownDigest,
    /// ESSIV's digest has fewer bits than the data key.
    DigestBelowKey,
    /// The data key has fewer bits than this.
    KeyBelow(u32),
    Authenticated,
    By(Integrity),
    Not(&'static When),
    Any(&'static [When]),
    All(&'static [When]),
}

impl When {
    fn holds(&self, spec: &Spec) -> bool {
        let iv = (!ignores_iv(spec)).then_some(spec.iv.name.as_str());
        let digest = spec.iv.digest.as_deref().filter(|_| iv == Some("essiv"));
        match self {
            When::Cipher(names) => names.contains(&spec.cipher.as_str()),
            When::UnknownCipher => !is_known_cipher(&spec.cipher),
            When::Block(bits) => spec::block_bits(&spec.cipher) == Some(*bits),
            When::Mode(names) => names.contains(&spec.mode.as_str()),
            When::UnknownMode => !is_known_mode(spec),
            When::Iv(names) => iv.is_some_and(|iv| names.contains(&iv)),
            When::UnknownIv => iv.is_some_and(|iv| iv != "essiv" && !spec::IVS.contains(&iv)),
            When::Digest(names) => digest.is_some_and(|digest| names.contains(&digest)),
            When::UnknownDigest => digest.is_some_and(|it| spec::digest_bits(it).is_none()),
            When::DigestBelowKey => digest
                .and_then(spec::digest_bits)
                .is_some_and(|bits| bits < data_key_bits(spec)),
            When::KeyBelow(bits) => data_key_bits(spec) < *bits,
            When::Authenticated => spec.integrity.is_some(),
            When::By(integrity) => spec.integrity == Some(*integrity),
            When::Not(when) => !when.holds(spec),
            When::Any(any) => any.iter().any(|when| when.holds(spec)),
            When::All(all) => all.iter().all(|when| when.holds(spec)),
        }
    }
}

fn is_known_cipher(cipher: &str) -> bool {
    let is_paired = spec::PAIRS.iter().any(|(_, known)| *known == cipher);
    is_paired || spec::block_bits(cipher).is_some() || spec::AEAD_CIPHERS.contains(&cipher)
}

fn is_known_mode(spec: &Spec) -> bool {
    let mode = spec.mode.as_str();
    let is_aead = match mode {
        "" => matches!(spec.integrity, Some(Integrity::Aead | Integrity::Poly1305)),
        mode => spec.integrity == Some(Integrity::Aead) && mode == spec::AEAD_MODE,
    };
    is_aead || spec::MODES.contains(&mode) || spec::PAIRS.iter().any(|(known, _)| *known == mode)
}

/// The size of the mode's IV in bits.
fn iv_bits(spec: &Spec) -> u32 {
    match spec.mode.as_str() {
        "adiantum" | "hctr2" => 256,
        "rfc3686(ctr)" | "kw" => 64,
        _ => spec::block_bits(&spec.cipher).unwrap_or(128).max(64),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::candidates;

    use super::*;

    fn read(text: &str) -> Spec {
        text.parse().unwrap()
    }

    /// For each rule, a specification whose first reason is that rule, and one with a single difference
    /// that the rule does not apply to.
    #[rustfmt::skip]
    const CASES: &[(&str, &str, &str)] = &[
        ("null-cipher", "cipher_null-cbc-null 0", "aes-cbc-null 128"),
        ("ecb", "aes-ecb-null 256", "aes-cbc-null 256"),
        ("ecb", "aes-ecb-null 256 hmac-sha256", "aes-cbc-null 256 hmac-sha256"),
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
        ("predictable-iv", "aes-cbc-plain64 256 hmac-sha256", "aes-xts-plain64 512 hmac-sha256"),
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
    fn each_rule_applies_to_its_case_and_not_to_a_near_miss() {
        let speak = |text: &str| -> Vec<&str> {
            let reasons = judge(&read(text)).1.into_iter();
            reasons.map(|reason| reason.rule).collect()
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
        let all: Vec<&str> = RULES.iter().map(|rule| rule.reason.rule).collect();
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

    /// Nothing is secure by oversight: a candidate is secure only in one of the three intended ways.
    #[test]
    fn what_is_secure_is_what_it_should_be() {
        let mut secure = BTreeSet::new();
        for (mode, cipher) in candidates::algorithms() {
            let all = candidates::specs(mode, cipher).into_iter();
            for spec in all.filter(|spec| judge(spec).0 == Verdict::Secure) {
                let is_meant = match (mode, spec.iv.name.as_str()) {
                    ("xts", "plain64") => spec.key_bits >= 256,
                    ("cbc", "essiv") => spec.key_bits >= 128,
                    ("adiantum" | "hctr2", "plain64") => true,
                    _ => false,
                };
                assert!(is_meant, "{spec}");
                secure.insert(spec.to_string());
            }
        }
        for wanted in [
            "aes-xts-plain64 256",
            "cast6-xts-plain64 320",
            "twofish-xts-plain64 512",
            "camellia-cbc-essiv:sha256 128",
            "serpent-cbc-essiv:blake2b-256 256",
            "xchacha20,aes-adiantum-plain64 256",
        ] {
            assert!(secure.contains(wanted), "{wanted}");
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
        fn named(when: &When) -> Vec<&'static str> {
            use When::*;
            match when {
                Cipher(names) | Mode(names) | Iv(names) | Digest(names) => names.to_vec(),
                Not(when) => named(when),
                All(some) | Any(some) => some.iter().flat_map(named).collect(),
                _ => vec![],
            }
        }
        let mut known: Vec<&str> = [spec::MODES, spec::IVS].concat();
        let sized = spec::CIPHERS.iter().chain(spec::DIGESTS);
        known.extend(sized.map(|(name, _)| *name));
        known.extend(["adiantum", "essiv", spec::AEAD_MODE]);
        for rule in RULES {
            let strays: Vec<_> = named(&rule.when)
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
}
