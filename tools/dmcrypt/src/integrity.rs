//! Authenticated encryption: what vouches for a sector, and the names and lengths that the kernel and
//! cryptsetup have for it.
//!
//! dm-crypt makes a tag for each sector, and a nonce if that is random. Both are kept by a device of
//! dm-integrity below (dm-crypt.rst and dm-integrity.rst of the kernel). The words, the lengths of tags,
//! nonces and keys, and the form of the table are those of cryptsetup's `--integrity`.

mod device;

pub use device::{Layout, TARGET};

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::Serialize;

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
    const ALL: [Integrity; 4] = [
        Integrity::Aead,
        Integrity::Poly1305,
        Integrity::HmacSha256,
        Integrity::HmacSha512,
    ];

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
    pub fn tag_len(self) -> usize {
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
    pub fn nonce_len(self, mode: &str) -> usize {
        if self == Integrity::Poly1305 || mode == "gcm" {
            12
        } else {
            16
        }
    }
}

impl fmt::Display for Integrity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl FromStr for Integrity {
    type Err = ();

    fn from_str(word: &str) -> Result<Integrity, ()> {
        let mut all = Integrity::ALL.into_iter();
        all.find(|integrity| integrity.word() == word).ok_or(())
    }
}
