//! A cipher specification: the cipher field of a dm-crypt table, the key length, and what authenticates sectors.
//!
//! Two spellings of one specification give equal values: `aes-xts-plain64` and
//! `capi:xts(aes)-plain64` are read as the same
//! (Documentation/admin-guide/device-mapper/dm-crypt.rst of the kernel). The words for what authenticates,
//! and the lengths of tags, nonces and keys, are those of cryptsetup's `--integrity`.
//!
//! At the end are the names that specifications are made of: the ciphers, modes, IVs and digests that Linux has or had.
//! The kernel is asked about no other names, because no rule could judge them.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::Serialize;

/// The longest key in bits; no cipher takes more in any mode.
pub const MOST_KEY_BITS: u32 = 4096;

/// A cipher with its mode, IV and key length.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct Spec {
    /// The block cipher, such as `aes`; for Adiantum also the stream cipher, as `xchacha12,aes`.
    pub cipher: String,
    /// The mode, such as `xts`; nested modes have brackets, as in `cts(cbc)`. Empty for ciphers that
    /// need none, such as `chacha20`, which are always authenticated.
    pub mode: String,
    /// How the IV of a sector is made.
    pub iv: Iv,
    /// Length of the whole key in the table, in bits, without that of an HMAC; XTS needs twice the
    /// cipher's length.
    #[schemars(extend("multipleOf" = 8))]
    pub key_bits: u32,
    /// What authenticates sectors, which takes dm-integrity; `None` if nothing does.
    pub integrity: Option<Integrity>,
}

/// How the IV of a sector is made.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct Iv {
    /// The generator, such as `plain64` or `essiv`.
    pub name: String,
    /// The digest, such as `sha256`; `None` if the generator needs none.
    pub digest: Option<String>,
}

impl Iv {
    /// The generator `name` without a digest.
    pub fn plain(name: &str) -> Iv {
        Iv {
            name: name.into(),
            digest: None,
        }
    }

    pub fn essiv(digest: &str) -> Iv {
        Iv {
            name: "essiv".into(),
            digest: Some(digest.into()),
        }
    }
}

impl fmt::Display for Iv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        match &self.digest {
            Some(digest) => write!(f, ":{digest}"),
            None => Ok(()),
        }
    }
}

impl Spec {
    /// The name for cryptsetup: `aes-xts-plain64`, or `capi:cts(cbc(aes))-plain64` if modes are nested.
    pub fn name(&self) -> String {
        let Spec {
            cipher, mode, iv, ..
        } = self;
        if mode.contains('(') {
            format!("capi:{}-{iv}", self.algorithm())
        } else if mode.is_empty() {
            format!("{cipher}-{iv}")
        } else {
            format!("{cipher}-{mode}-{iv}")
        }
    }

    /// The cipher field of a table: [`Spec::name`], or `capi:gcm(aes)-random` if sectors are
    /// authenticated.
    pub fn in_table(&self) -> String {
        match self.integrity {
            Some(integrity) => format!("capi:{}-{}", integrity.over(&self.algorithm()), self.iv),
            None => self.name(),
        }
    }

    /// The mode and cipher as the kernel's crypto API names them: `xts(aes)`, `cts(cbc(aes))`.
    pub fn algorithm(&self) -> String {
        algorithm(&self.mode, &self.cipher)
    }

    /// Length in bytes of the key in a table.
    pub fn key_len(&self) -> usize {
        self.key_bits as usize / 8 + self.integrity.map_or(0, Integrity::key_len)
    }

    /// How many bytes dm-integrity keeps for each sector: the tag, after the nonce if that is random.
    /// 0 if sectors are not authenticated.
    pub fn metadata_len(&self) -> usize {
        let Some(integrity) = self.integrity else {
            return 0;
        };
        let nonce = match self.iv.name.as_str() {
            "random" => integrity.nonce_len(&self.mode),
            _ => 0,
        };
        nonce + integrity.tag_len()
    }
}

/// Shows [`Spec::name`], the key length in bits, and what authenticates: `aes-xts-plain64 512`,
/// `aes-gcm-random 256 aead`.
impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name(), self.key_bits)?;
        match self.integrity {
            Some(integrity) => write!(f, " {}", integrity.word()),
            None => Ok(()),
        }
    }
}

/// The kernel's name for `mode` over `cipher`.
pub fn algorithm(mode: &str, cipher: &str) -> String {
    match mode.strip_suffix(')') {
        _ if mode.is_empty() => cipher.into(),
        Some(open) => format!("{open}({cipher}))"),
        None => format!("{mode}({cipher})"),
    }
}

/// Splits the kernel's name into mode and cipher: `xts(aes)` gives `("xts", "aes")`.
fn split_algorithm(name: &str) -> Option<(String, String)> {
    let (mode, inner) = name.strip_suffix(')')?.split_once('(')?;
    match split_algorithm(inner) {
        Some((inner, cipher)) => Some((format!("{mode}({inner})"), cipher)),
        None if inner.contains(['(', ')']) => None,
        None => Some((mode.into(), inner.into())),
    }
}

/// Parses the form that [`Spec`] is displayed in: `aes-xts-plain64 512`, `aes-gcm-random 256 aead`.
impl FromStr for Spec {
    type Err = String;

    fn from_str(text: &str) -> Result<Spec, String> {
        parse(text).ok_or_else(|| {
            format!(
                "{text:?} is not a cipher with the length of its key in bits: use one such as \
                 \"aes-xts-plain64 512\", or \"aes-xts-plain64 512 hmac-sha256\" with what \
                 authenticates it (aead, poly1305, hmac-sha256 or hmac-sha512)"
            )
        })
    }
}

fn parse(text: &str) -> Option<Spec> {
    let mut words = text.trim().split(' ');
    let (name, bits) = (words.next()?, words.next()?);
    let integrity = match words.next() {
        Some(word) => Some(Integrity::of_word(word)?),
        None => None,
    };
    if words.next().is_some() {
        return None;
    }
    let (mode, cipher, iv) = match name.strip_prefix("capi:") {
        Some(rest) => {
            let (open, iv) = rest.rsplit_once(")-")?;
            let (mode, cipher) = split_algorithm(&format!("{open})"))?;
            (mode, cipher, iv)
        }
        None => {
            let mut parts = name.splitn(3, '-');
            let (cipher, second) = (parts.next()?, parts.next()?);
            match parts.next() {
                Some(iv) => (second.into(), cipher.into(), iv),
                // Such as `chacha20-random`: a cipher that needs no mode.
                None => (String::new(), cipher.into(), integrity.map(|_| second)?),
            }
        }
    };
    let (iv, digest) = match iv.split_once(':') {
        Some((iv, digest)) => (iv, Some(digest.to_owned())),
        None => (iv, None),
    };
    let key_bits = bits.parse().ok();
    let key_bits = key_bits.filter(|bits| bits % 8 == 0 && *bits <= MOST_KEY_BITS)?;
    let words = [&cipher, iv].into_iter().chain(digest.as_deref());
    let are_words = words
        .chain(Some(&*mode).filter(|mode| !mode.is_empty()))
        .all(is_word);
    are_words.then(|| Spec {
        cipher,
        mode,
        iv: Iv {
            name: iv.into(),
            digest,
        },
        key_bits,
        integrity,
    })
}

/// Whether `word` can be a word in a table, whose parts are separated by spaces.
fn is_word(word: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-_,()".contains(c);
    !word.is_empty() && word.chars().all(is_part)
}

/// What vouches for a sector, in cryptsetup's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Integrity {
    /// The mode itself, such as GCM.
    Aead,
    /// Poly1305, with ChaCha20 as in RFC 7539.
    Poly1305,
    /// HMAC of the ciphertext with SHA-256, under a key of its own.
    HmacSha256,
    /// HMAC of the ciphertext with SHA-512, under a key of its own.
    HmacSha512,
}

impl Integrity {
    /// Those that any mode can be combined with.
    pub const MACS: [Integrity; 2] = [Integrity::HmacSha256, Integrity::HmacSha512];

    /// The word for `--integrity`.
    pub fn word(self) -> &'static str {
        match self {
            Integrity::Aead => "aead",
            Integrity::Poly1305 => "poly1305",
            Integrity::HmacSha256 => "hmac-sha256",
            Integrity::HmacSha512 => "hmac-sha512",
        }
    }

    /// What this word for cryptsetup's `--integrity` stands for.
    fn of_word(word: &str) -> Option<Integrity> {
        use Integrity::*;
        let all = [Aead, Poly1305, HmacSha256, HmacSha512];
        all.into_iter().find(|it| it.word() == word)
    }

    /// The kernel's name for `algorithm`, such as `xts(aes)`, combined with this.
    pub fn over(self, algorithm: &str) -> String {
        match self {
            Integrity::Aead => algorithm.into(),
            Integrity::Poly1305 => format!("rfc7539({algorithm},poly1305)"),
            Integrity::HmacSha256 => format!("authenc(hmac(sha256),{algorithm})"),
            Integrity::HmacSha512 => format!("authenc(hmac(sha512),{algorithm})"),
        }
    }

    /// Length of the tag in bytes.
    fn tag_len(self) -> usize {
        match self {
            Integrity::Aead | Integrity::Poly1305 => 16,
            Integrity::HmacSha256 => 32,
            Integrity::HmacSha512 => 64,
        }
    }

    /// Length in bytes of its own key, which a table has after the cipher's.
    pub fn key_len(self) -> usize {
        match self {
            Integrity::Aead | Integrity::Poly1305 => 0,
            mac => mac.tag_len(),
        }
    }

    /// Length in bytes of a random nonce of `mode`.
    fn nonce_len(self, mode: &str) -> usize {
        if self == Integrity::Poly1305 || mode == "gcm" {
            12
        } else {
            16
        }
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_spellings_give_one_value() {
        let read = |text: &str| text.parse::<Spec>().unwrap();
        assert_eq!(
            read("capi:xts(aes)-plain64 512"),
            read(" aes-xts-plain64 512")
        );
        let nested = read("capi:cts(cbc(aes))-plain64 256");
        assert_eq!(
            (nested.mode.as_str(), nested.cipher.as_str()),
            ("cts(cbc)", "aes")
        );
        assert_eq!(nested.algorithm(), "cts(cbc(aes))");
        assert_eq!(nested.to_string(), "capi:cts(cbc(aes))-plain64 256");
        let adiantum = read("xchacha20,aes-adiantum-plain64 256");
        assert_eq!(adiantum.algorithm(), "adiantum(xchacha20,aes)");
        assert_eq!(adiantum.to_string(), "xchacha20,aes-adiantum-plain64 256");
        assert_eq!(adiantum, read("capi:adiantum(xchacha20,aes)-plain64 256"));
    }

    /// The cipher field, the lengths of the key and of the metadata of a sector, as cryptsetup makes
    /// them (lib/libdevmapper.c and lib/integrity/integrity.c of cryptsetup 2.8).
    #[test]
    fn authenticated_ones_are_cryptsetups() {
        #[rustfmt::skip]
        let cases = [
            ("aes-gcm-random 256 aead", "capi:gcm(aes)-random", 32, 28),
            ("aegis128-random 128 aead", "capi:aegis128-random", 16, 32),
            ("chacha20-random 256 poly1305", "capi:rfc7539(chacha20,poly1305)-random", 32, 28),
            ("aes-xts-plain64 512 hmac-sha256", "capi:authenc(hmac(sha256),xts(aes))-plain64", 96, 32),
            ("aes-xts-random 512 hmac-sha512", "capi:authenc(hmac(sha512),xts(aes))-random", 128, 80),
            ("aes-cbc-essiv:sha256 256 hmac-sha256", "capi:authenc(hmac(sha256),cbc(aes))-essiv:sha256", 64, 32),
            ("aes-xts-plain64 512", "aes-xts-plain64", 64, 0),
        ];
        for (text, in_table, key, metadata) in cases {
            let spec: Spec = text.parse().unwrap();
            assert_eq!(spec.to_string(), text);
            assert_eq!(spec.in_table(), in_table);
            assert_eq!(
                (spec.key_len(), spec.metadata_len()),
                (key, metadata),
                "{text}"
            );
        }
    }

    #[test]
    fn invalid_specifications_are_refused() {
        for text in [
            "chacha20-random 256",
            "aes-gcm-random 256 crc32",
            "aes-gcm-random 256 aead aead",
            "-random 256 aead",
            "aes-xts-plain64",
            "aes-xts 512",
            "aes-xts-plain64 five",
            "aes-xts-plain64 511",
            "aes:64-cbc-lmk 512",
            "capi:xts(aes-plain64 512",
            "-xts-plain64 512",
            "aes-xts-plain64 8192",
            "aes-cbc-essiv:a b 256",
            "aes-cbc-essiv:sha256\t 256",
            "aes-xts-plain64\n 512",
        ] {
            let error = text.parse::<Spec>().unwrap_err();
            assert!(error.contains("aes-xts-plain64 512"), "{error}");
        }
    }
}
