//! The rules, most serious first.

use super::when::When::{self, *};
use crate::verdict::Reason;
use crate::verdict::Verdict::{self, *};

/// A reason against specifications, and the condition under which it applies.
pub struct Rule {
    pub reason: Reason,
    pub when: When,
}

/// All rules.
#[rustfmt::skip]
pub const RULES: &[Rule] = &[
    rule("null-cipher", Insecure, Cipher(&["cipher_null"]), "it encrypts nothing", "Linux, crypto/crypto_null.c"),
    rule("ecb", Insecure, Mode(&["ecb"]), "equal blocks stay equal, wherever they are", "NIST SP 800-38A, 6.1"),
    rule("keystream", Insecure, Mode(&["ctr", "xctr", "ofb", "rfc3686(ctr)"]), "a sector that is written again is encrypted with the same keystream, which cancels out of the two", "NIST SP 800-38A, 6.4 and appendix B"),
    rule("cfb", Insecure, Mode(&["cfb"]), "a sector that is written again has the same keystream in its first block, and on to where the two differ", "NIST SP 800-38A, 6.3 and appendix C"),
    rule("key-wrap", Insecure, Mode(&["kw"]), "it is for keys, with a check value that a disk has no place for: nothing can be read back", "NIST SP 800-38F; Linux, crypto/keywrap.c"),
    rule("pcbc", Insecure, Mode(&["pcbc"]), "errors spread only until two blocks change places, and that is all it has over CBC", "Kohl 1989, The Use of Encryption in Kerberos for Network Authentication"),
    rule("null-iv", Insecure, Iv(&["null"]), "every sector has the same IV: equal sectors stay equal", "Linux, drivers/md/dm-crypt.c (null)"),
    rule("predictable-iv", Insecure, CBC_BY_NUMBER, "IVs can be predicted: a file can be made that is recognised on the disk without the key", "Fruhwirth 2005, New Methods in Hard Disk Encryption; NIST SP 800-38A, appendix C"),
    rule("random-iv", Insecure, Iv(&["random"]), "the IV is not stored without dm-integrity: nothing can be read back", "Linux, drivers/md/dm-crypt.c (random)"),
    rule("short-block", Insecure, Block(64), "blocks of 64 bits: after 32 GiB some are expected to collide, which reveals something about their contents", "Bhargavan and Leurent 2016, On the Practical (In-)Security of 64-bit Block Ciphers"),
    rule("short-key", Insecure, KeyBelow(128), "less than 128 bits of key for the data (256 in XTS, which takes two keys): too few for data that last", "BSI TR-02102-1 (120 bits at least); NIST SP 800-57 part 1, 5.6.1 (112)"),
    rule("loop-aes", Insecure, Iv(&["lmk"]), "loop-AES uses it with 64 keys; with one it is nobody's format, and no secret is in the IV", "Linux, drivers/md/dm-crypt.c (lmk)"),
    rule("stray-tcw", Insecure, All(&[Iv(&["tcw"]), Not(&TRUECRYPT)]), "TrueCrypt used it with its own ciphers in CBC only: elsewhere it is nobody's format, of unknown worth", "Linux, drivers/md/dm-crypt.c (tcw)"),
    rule("stray-elephant", Insecure, All(&[Iv(&["elephant"]), Not(&BITLOCKER)]), "BitLocker uses it with AES in CBC only: elsewhere it is nobody's format, of unknown worth", "Linux, drivers/md/dm-crypt.c (elephant)"),
    rule("stray-eboiv", Insecure, All(&[Iv(&["eboiv"]), Not(&BITLOCKER)]), "BitLocker uses it with AES in CBC only: elsewhere it is nobody's format, of unknown worth", "Linux, drivers/md/dm-crypt.c (eboiv)"),
    rule("lrw-overlap", Insecure, All(&[Mode(&["lrw"]), Iv(&["plain64be"])]), "LRW counts blocks from the sector's number on: neighbouring sectors share tweaks", "Linux, crypto/lrw.c and drivers/md/dm-crypt.c (benbi)"),
    rule("no-digest", Insecure, Digest(&["crc32", "crc32c", "crc64-rocksoft", "crct10dif", "digest_null", "poly1305", "xxhash64"]), "ESSIV's key comes from a checksum, which is not a one-way function", "Fruhwirth 2005, New Methods in Hard Disk Encryption"),
    rule("broken-digest", Insecure, Digest(&["md4", "md5", "sha1"]), "ESSIV's key comes from a digest that was broken, if not in what ESSIV needs of it", "RFC 6150 (MD4); RFC 6151 (MD5); Stevens et al. 2017, The First Collision for Full SHA-1"),

    rule("lrw", Compatible, Mode(&["lrw"]), "it becomes insecure if its own key is written to the disk, for example to swap; XTS replaced it", "Halevi and Krawczyk 2007, Security under Key-Dependent Inputs"),
    rule("plain", Compatible, Iv(&["plain"]), "32 bits of the sector's number: beyond 2 TiB IVs repeat", "Linux, drivers/md/dm-crypt.c (plain)"),
    rule("bitlocker-cbc", Compatible, All(&[Iv(&["eboiv"]), BITLOCKER]), "BitLocker's: IVs are encrypted under the key of the data, which was shown to be insecure", "Rogaway 2011, Evaluation of Some Blockcipher Modes of Operation"),
    rule("bitlocker-elephant", Compatible, All(&[Iv(&["elephant"]), BITLOCKER]), "BitLocker's until Windows 8: CBC under a diffuser that has no proof", "Ferguson 2006, AES-CBC + Elephant Diffuser"),
    rule("truecrypt", Compatible, All(&[Iv(&["tcw"]), TRUECRYPT]), "TrueCrypt's before 4.1: a file can be made that is recognised on the disk without the key", "Linux, drivers/md/dm-crypt.c (tcw)"),
    rule("stealing", Compatible, Mode(&["cts(cbc)"]), "sectors are whole blocks: stealing ciphertext only swaps the last two, and CBC does without", "NIST SP 800-38A, addendum"),
    rule("needless-essiv", Compatible, All(&[TWEAKED, Iv(&["essiv"])]), "the mode encrypts its tweak itself: nothing is gained over plain64", "IEEE 1619; NIST SP 800-38E"),
    rule("foreign-iv", Compatible, All(&[TWEAKED, Iv(&["benbi", "plain64be"])]), "numbers of sectors as other formats write them: nothing is gained over plain64", "IEEE 1619; Linux, drivers/md/dm-crypt.c"),
    rule("short-digest", Compatible, DigestBelowKey, "ESSIV's digest has fewer bits than the key of the data: the IVs are easier to guess than the data", "Linux, crypto/essiv.c"),
    rule("old-digest", Compatible, Digest(&["rmd128", "rmd160", "rmd256", "rmd320", "tgr128", "tgr160", "tgr192"]), "ESSIV's digest is of a family that Linux has dropped, except RIPEMD-160", "Linux 5.12, crypto/Kconfig"),
    rule("streebog", Compatible, Digest(&["streebog256", "streebog512"]), "ESSIV's digest has a hidden structure that its designers do not explain", "Perrin 2019, Partitions in the S-Box of Streebog and Kuznyechik"),
    rule("obsolete-cipher", Compatible, Cipher(&["anubis", "arc4", "khazad", "seed", "tea", "xeta", "xtea"]), "Linux keeps the cipher only for those who still depend on it", "Linux, crypto/Kconfig (CRYPTO_USER_API_ENABLE_OBSOLETE)"),
    rule("tnepres", Compatible, Cipher(&["tnepres"]), "Serpent with its bytes in the wrong order, which Linux has dropped", "Linux 5.12, crypto/serpent_generic.c"),
    rule("unknown-cipher", Compatible, UnknownCipher, "squall does not know the cipher and cannot judge it", "squall's list of ciphers"),
    rule("unknown-mode", Compatible, UnknownMode, "squall does not know the mode and cannot judge it", "squall's list of modes"),
    rule("unknown-iv", Compatible, UnknownIv, "squall does not know the IV generator and cannot judge it", "squall's list of IVs"),
    rule("unknown-digest", Compatible, UnknownDigest, "squall does not know the digest and cannot judge it", "squall's list of digests"),
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
