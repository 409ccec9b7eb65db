//! The rules, most serious first.

use super::When::{self, *};
use crate::integrity::Integrity;
use crate::rules::Reason;
use crate::rules::Verdict::{self, *};

/// A reason against specifications, and the condition under which it applies.
pub struct Rule {
    pub reason: Reason,
    pub when: When,
}

#[rustfmt::skip]
pub const RULES: &[Rule] = &[
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
