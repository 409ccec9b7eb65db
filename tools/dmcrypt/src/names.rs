//! The names that specifications are made of: the ciphers, modes, IVs and digests that Linux has or had. The kernel is
//! asked about no other names, because no rule could judge them.

/// Single ciphers with their block sizes in bits.
#[rustfmt::skip]
pub const CIPHERS: &[(&str, u32)] = &[
    ("aes", 128), ("anubis", 128), ("arc4", 8), ("aria", 128), ("blowfish", 64),
    ("camellia", 128), ("cast5", 64), ("cast6", 128), ("cipher_null", 8), ("des", 64),
    ("des3_ede", 64), ("fcrypt", 64), ("khazad", 64), ("seed", 128), ("serpent", 128),
    ("sm4", 128), ("tea", 64), ("tnepres", 128), ("twofish", 128), ("xeta", 64), ("xtea", 64),
];

/// Modes that take a single cipher.
#[rustfmt::skip]
pub const MODES: &[&str] = &[
    "cbc", "cfb", "ctr", "cts(cbc)", "ecb", "hctr2", "kw", "lrw", "ofb", "pcbc", "rfc3686(ctr)",
    "xctr", "xts",
];

/// Modes that take only one particular cipher, with that cipher.
pub const PAIRS: &[(&str, &str)] = &[("adiantum", "xchacha12,aes"), ("adiantum", "xchacha20,aes")];

/// The mode that authenticates by itself, over any cipher with blocks of 128 bits. CCM is not asked
/// about: its nonces have 64 bits, too few for random ones.
pub const AEAD_MODE: &str = "gcm";

/// Ciphers that need no mode, and stand only where sectors are authenticated.
pub const AEAD_CIPHERS: &[&str] = &["aegis128", "chacha20"];

/// All of dm-crypt's IV generators that need no digest.
#[rustfmt::skip]
pub const IVS: &[&str] = &[
    "benbi", "eboiv", "elephant", "lmk", "null", "plain", "plain64", "plain64be", "random", "tcw",
];

/// Digests without a key, with their output in bits; ESSIV accepts checksums too.
#[rustfmt::skip]
pub const DIGESTS: &[(&str, u32)] = &[
    ("blake2b-160", 160), ("blake2b-256", 256), ("blake2b-384", 384), ("blake2b-512", 512),
    ("blake2s-128", 128), ("blake2s-160", 160), ("blake2s-224", 224), ("blake2s-256", 256),
    ("crc32", 32), ("crc32c", 32), ("crc64-rocksoft", 64), ("crct10dif", 16), ("digest_null", 0),
    ("md4", 128), ("md5", 128), ("poly1305", 128), ("rmd128", 128), ("rmd160", 160),
    ("rmd256", 256), ("rmd320", 320), ("sha1", 160), ("sha224", 224), ("sha256", 256),
    ("sha3-224", 224), ("sha3-256", 256), ("sha3-384", 384), ("sha3-512", 512), ("sha384", 384),
    ("sha512", 512), ("sm3", 256), ("streebog256", 256), ("streebog512", 512), ("tgr128", 128),
    ("tgr160", 160), ("tgr192", 192), ("wp256", 256), ("wp384", 384), ("wp512", 512),
    ("xxhash64", 64),
];

/// The block size of a single cipher in bits, if known.
pub fn block_bits(cipher: &str) -> Option<u32> {
    bits(CIPHERS, cipher)
}

/// The output of a digest in bits, if known.
pub fn digest_bits(digest: &str) -> Option<u32> {
    bits(DIGESTS, digest)
}

fn bits(table: &[(&str, u32)], name: &str) -> Option<u32> {
    let entry = table.iter().find(|(known, _)| *known == name)?;
    Some(entry.1)
}
