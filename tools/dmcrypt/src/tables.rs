//! Tables of dm-crypt and of dm-integrity, which stands below it if sectors are authenticated.
//!
//! dm-crypt makes a tag for each sector, and a nonce if that is random. dm-integrity keeps both (dm-crypt.rst and
//! dm-integrity.rst of the kernel; the form of its table is cryptsetup's).

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::rc::Rc;

use data_encoding::HEXLOWER;
use squall_drives::Number;
use squall_drives::io::Buffer;
use squall_tool_base::Failure;
use squall_tool_base::failure::cause;
use zeroize::Zeroizing;

use crate::mapper::{Control, Mapped, Table};
use crate::model::Options;
use crate::spec::Spec;

/// A random key in the hexadecimal digits that a table has, wiped when dropped.
pub struct Key(Zeroizing<String>);

impl Key {
    pub fn draw(len: usize) -> Key {
        let mut bytes = Zeroizing::new(vec![0; len]);
        squall::fill(&mut bytes);
        let mut digits = Zeroizing::new(String::with_capacity(2 * len));
        HEXLOWER.encode_append(&bytes, &mut digits);
        Key(digits)
    }

    /// The digits of the first `len` bytes; a key of no bytes is written `-`.
    fn digits(&self, len: usize) -> &str {
        match len {
            0 => "-",
            len => &self.0[..2 * len],
        }
    }
}

/// The table of `spec` with the first bytes of `key`, over the first `sectors` (of 512 bytes each) of
/// the device `below`.
pub fn table(spec: &Spec, options: Options, key: &Key, below: Number, sectors: u64) -> Table {
    let key = key.digits(spec.key_len());
    let mut parameters = Zeroizing::new(String::with_capacity(512 + key.len()));
    parameters.push_str(&spec.in_table());
    parameters.push(' ');
    parameters.push_str(key);
    parameters.push_str(&format!(" 0 {below} 0"));
    let options = optional_parameters(spec, options);
    if !options.is_empty() {
        parameters.push_str(&format!(" {} {}", options.len(), options.join(" ")));
    }
    Table {
        target: "crypt",
        sectors,
        parameters,
    }
}

fn optional_parameters(spec: &Spec, options: Options) -> Vec<String> {
    let mut words: Vec<String> = options.flags().map(str::to_owned).collect();
    if options.sector_size != 512 {
        words.push(format!("sector_size:{}", options.sector_size));
    }
    if spec.integrity.is_some() {
        words.push(format!("integrity:{}:aead", spec.metadata_len()));
    }
    words
}

/// The target of dm-integrity.
pub const INTEGRITY: &str = "integrity";

/// Length of dm-integrity's superblock in bytes, at the beginning of the device below.
const SUPERBLOCK_LEN: usize = 4096;

/// What the superblock begins with, and where it has the number of sectors (of 512 bytes) for data.
const MAGIC: &[u8] = b"integrt\0";
const PROVIDED: Range<usize> = 16..24;

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
        Table::new(INTEGRITY, sectors, parameters)
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
    fn a_table_has_the_documented_format() {
        let spec = |text: &str| text.parse::<Spec>().unwrap();
        let plain = spec("aes-cbc-essiv:sha256 128");
        let key = Key(Zeroizing::new("00112233445566778899aabbccddeeff".repeat(2)));
        let below = "1:0".parse().expect("a number");
        let of = |spec: &Spec, options| table(spec, options, &key, below, 8).parameters.to_string();
        let parameters = |options| of(&plain, options);
        let begin = "aes-cbc-essiv:sha256 00112233445566778899aabbccddeeff 0 1:0 0";
        assert_eq!(parameters(Options::PLAIN), begin);
        let mut direct = Options::PLAIN;
        (direct.sector_size, direct.no_workqueues) = (4096, true);
        let words = "3 no_read_workqueue no_write_workqueue sector_size:4096";
        assert_eq!(parameters(direct), format!("{begin} {words}"));
        let mut queued = Options::PLAIN;
        queued.same_cpu = true;
        assert_eq!(parameters(queued), format!("{begin} 1 same_cpu_crypt"));
        let gcm =
            "capi:gcm(aes)-random 00112233445566778899aabbccddeeff 0 1:0 0 1 integrity:28:aead";
        assert_eq!(of(&spec("aes-gcm-random 128 aead"), Options::PLAIN), gcm);
    }

    #[test]
    fn an_empty_key_is_a_dash() {
        let key = Key::draw(0);
        assert_eq!(key.digits(0), "-");
        let one = Key::draw(32);
        assert_eq!(one.digits(16).len(), 32);
        assert_ne!(one.digits(32), Key::draw(32).digits(32));
    }

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
