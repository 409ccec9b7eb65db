//! A cipher specification: the cipher field of a dm-crypt table, and the key length.
//!
//! Two spellings of one specification give equal values: `aes-xts-plain64` and
//! `capi:xts(aes)-plain64` are read as the same
//! (Documentation/admin-guide/device-mapper/dm-crypt.rst of the kernel).

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
    /// The mode, such as `xts`; nested modes have brackets, as in `cts(cbc)`.
    pub mode: String,
    /// How the IV of a sector is made.
    pub iv: Iv,
    /// Length of the whole key in the table, in bits; XTS needs twice the cipher's length.
    #[schemars(extend("multipleOf" = 8))]
    pub key_bits: u32,
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

    /// ESSIV with `digest`.
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
    /// The cipher field of a table: `aes-xts-plain64`, or `capi:cts(cbc(aes))-plain64` if modes are
    /// nested.
    pub fn name(&self) -> String {
        let Spec {
            cipher, mode, iv, ..
        } = self;
        if mode.contains('(') {
            format!("capi:{}-{iv}", self.algorithm())
        } else {
            format!("{cipher}-{mode}-{iv}")
        }
    }

    /// The mode and cipher as the kernel's crypto API names them: `xts(aes)`, `cts(cbc(aes))`.
    pub fn algorithm(&self) -> String {
        algorithm(&self.mode, &self.cipher)
    }

    /// Length of the key in bytes.
    pub fn key_len(&self) -> usize {
        self.key_bits as usize / 8
    }
}

/// Shows [`Spec::name`] and the key length in bits: `aes-xts-plain64 512`.
impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name(), self.key_bits)
    }
}

/// The kernel's name for `mode` over `cipher`.
pub fn algorithm(mode: &str, cipher: &str) -> String {
    match mode.strip_suffix(')') {
        Some(open) => format!("{open}({cipher}))"),
        None => format!("{mode}({cipher})"),
    }
}

/// Splits the kernel's name into mode and cipher: `xts(aes)` gives `("xts", "aes")`.
pub fn of_algorithm(name: &str) -> Option<(String, String)> {
    let (mode, inner) = name.strip_suffix(')')?.split_once('(')?;
    match of_algorithm(inner) {
        Some((inner, cipher)) => Some((format!("{mode}({inner})"), cipher)),
        None if inner.contains(['(', ')']) => None,
        None => Some((mode.into(), inner.into())),
    }
}

/// Parses the form that [`Spec`] is displayed in: `aes-xts-plain64 512`.
impl FromStr for Spec {
    type Err = String;

    fn from_str(text: &str) -> Result<Spec, String> {
        parse(text).ok_or_else(|| {
            format!(
                "{text:?} is not a cipher with the length of its key in bits: use one such as \
                 \"aes-xts-plain64 512\""
            )
        })
    }
}

fn parse(text: &str) -> Option<Spec> {
    let (name, bits) = text.trim().rsplit_once(' ')?;
    let (mode, cipher, iv) = match name.strip_prefix("capi:") {
        Some(rest) => {
            let (open, iv) = rest.rsplit_once(")-")?;
            let (mode, cipher) = of_algorithm(&format!("{open})"))?;
            (mode, cipher, iv)
        }
        None => {
            let mut parts = name.splitn(3, '-');
            let (cipher, mode) = (parts.next()?, parts.next()?);
            (mode.into(), cipher.into(), parts.next()?)
        }
    };
    let (iv, digest) = match iv.split_once(':') {
        Some((iv, digest)) => (iv, Some(digest.to_owned())),
        None => (iv, None),
    };
    let key_bits = bits.parse().ok();
    let key_bits = key_bits.filter(|bits| bits % 8 == 0 && *bits <= MOST_KEY_BITS)?;
    let words = [&cipher, &mode, iv].into_iter();
    let are_words = words.chain(digest.as_deref()).all(is_word);
    are_words.then(|| Spec {
        cipher,
        mode,
        iv: Iv {
            name: iv.into(),
            digest,
        },
        key_bits,
    })
}

/// Whether `word` can be a word in a table, whose parts are separated by spaces.
fn is_word(word: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-_,()".contains(c);
    !word.is_empty() && word.chars().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn displayed_specifications_are_parsed_back() {
        for text in [
            "aes-xts-plain64 512",
            "aes-cbc-essiv:sha3-256 256",
            "xchacha12,aes-adiantum-plain64 256",
            "capi:cts(cbc(aes))-essiv:sha256 128",
        ] {
            let spec: Spec = text.parse().unwrap();
            assert_eq!(spec.to_string(), text);
        }
    }

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
        let adiantum = read("xchacha20,aes-adiantum-plain64 256");
        assert_eq!(adiantum.algorithm(), "adiantum(xchacha20,aes)");
        assert_eq!(adiantum, read("capi:adiantum(xchacha20,aes)-plain64 256"));
    }

    #[test]
    fn invalid_specifications_are_refused() {
        for text in [
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
