//! Devices of dm-integrity, which keep the metadata of authenticated sectors (dm-integrity.rst of the
//! kernel).

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::rc::Rc;

use squall_drives::Number;
use squall_drives::io::Buffer;
use squall_tools::Failure;
use squall_tools::failure::cause;
use zeroize::Zeroizing;

use crate::mapper::{Control, Mapped, Table};

/// The name of dm-integrity's target.
pub const TARGET: &str = "integrity";

/// Length of dm-integrity's superblock in bytes, at the beginning of the device below.
const SUPERBLOCK_LEN: usize = 4096;

/// What the superblock begins with, and where it has the number of sectors (of 512 bytes) for data.
const MAGIC: &[u8] = b"integrt\0";
const PROVIDED: std::ops::Range<usize> = 16..24;

/// How a device of dm-integrity is made.
pub struct Layout {
    /// The device below.
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
        Table {
            target: TARGET,
            sectors,
            parameters: Zeroizing::new(format!("{below} 0 {metadata_len} {mode} {options}")),
        }
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
        let mut layout = Layout {
            below: "1:0".parse().expect("a number"),
            metadata_len: 28,
            sector_size: 512,
            journal: true,
        };
        assert_eq!(*layout.table(8).parameters, "1:0 0 28 J 0");
        layout.sector_size = 4096;
        layout.journal = false;
        assert_eq!(*layout.table(8).parameters, "1:0 0 28 D 1 block_size:4096");
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
