//! Authenticated encryption: what vouches for a sector, and the names and lengths that the kernel and
//! cryptsetup have for it.
//!
//! dm-crypt makes a tag for each sector, and a nonce if that is random. Both are kept by a device of
//! dm-integrity below (dm-crypt.rst and dm-integrity.rst of the kernel). The words, the lengths of tags,
//! nonces and keys, and the form of the table are those of cryptsetup's `--integrity`.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::rc::Rc;

use schemars::JsonSchema;
use serde::Serialize;
use squall_drives::Number;
use squall_drives::io::Buffer;
use squall_tool_base::Failure;
use squall_tool_base::failure::cause;

use crate::mapper::{Control, Mapped, Table};

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
    pub fn of_word(word: &str) -> Option<Integrity> {
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

pub const TARGET: &str = "integrity";

/// Length of dm-integrity's superblock in bytes, at the beginning of the device below.
const SUPERBLOCK_LEN: usize = 4096;

/// What the superblock begins with, and where it has the number of sectors (of 512 bytes) for data.
const MAGIC: &[u8] = b"integrt\0";
const PROVIDED: std::ops::Range<usize> = 16..24;

/// How a device of dm-integrity is made.
pub struct Layout {
    pub below: Number,
    /// Bytes of metadata for each sector.
    pub metadata_len: usize,
    /// Size of its sectors in bytes.
    pub sector_size: u32,
    /// Whether data and metadata are written to a journal first, so that a crash leaves both or neither.
    pub journal: bool,
}

impl Layout {
    /// Its table, with so many sectors of 512 bytes for data.
    pub fn table(&self, sectors: u64) -> Table {
        let Layout {
            below,
            metadata_len,
            sector_size,
            journal,
        } = self;
        let mode = if *journal { "J" } else { "D" };
        let options = match sector_size {
            512 => "0".to_owned(),
            bytes => format!("1 block_size:{bytes}"),
        };
        let parameters = format!("{below} 0 {metadata_len} {mode} {options}");
        Table::new(TARGET, sectors, parameters)
    }

    /// Formats the device below, open for direct transfers as `file`, and makes a device over it. Also
    /// gives its length in sectors of 512 bytes.
    pub fn format(
        &self,
        control: &Rc<Control>,
        label: &str,
        file: &File,
    ) -> Result<(Mapped, u64), Failure> {
        let failed = |error| Failure::Runtime(format!("superblock: {}", cause(&error)));
        // The kernel formats a device whose superblock is zeros, for whatever length is asked for.
        let mut superblock = Buffer::new(SUPERBLOCK_LEN);
        superblock.fill(0);
        file.write_all_at(&superblock, 0).map_err(failed)?;
        let one_sector = u64::from(self.sector_size) / 512;
        let device = Mapped::create(control, label, &self.table(one_sector))?;
        file.read_exact_at(&mut superblock, 0).map_err(failed)?;
        let provided = provided(&superblock).map_err(failed)?;
        device.replace(&self.table(provided))?;
        Ok((device, provided))
    }
}

/// How many sectors of 512 bytes a formatted device has for data.
fn provided(superblock: &[u8]) -> io::Result<u64> {
    let bytes = superblock
        .get(PROVIDED)
        .filter(|_| superblock.starts_with(MAGIC));
    let sectors = bytes.and_then(|bytes| bytes.try_into().ok().map(u64::from_le_bytes));
    sectors.ok_or_else(|| io::Error::other("the kernel did not format the device"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_is_in_the_superblock() {
        let mut superblock = vec![0; SUPERBLOCK_LEN];
        assert!(provided(&superblock).is_err());
        superblock[..8].copy_from_slice(MAGIC);
        superblock[PROVIDED].copy_from_slice(&0x1_0000_0008_u64.to_le_bytes());
        assert_eq!(provided(&superblock).expect("a length"), 0x1_0000_0008);
        assert!(provided(MAGIC).is_err());
    }
}
