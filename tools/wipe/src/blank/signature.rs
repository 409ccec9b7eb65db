//! Partition tables, file systems and volumes that are recognised by their signatures, at the places that
//! libblkid and the formats' own descriptions give.

use schemars::JsonSchema;
use serde::Serialize;

/// A signature that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Signature {
    /// What it is a signature of.
    pub name: &'static str,
    /// Its offset in bytes.
    pub offset: u64,
}

/// So many bytes at the beginning are searched.
pub const SEARCHED: usize = 128 << 10;

/// Names, offsets and bytes.
const KNOWN: [(&str, usize, &[u8]); 25] = [
    ("GPT", 512, b"EFI PART"),
    ("GPT", 4096, b"EFI PART"),
    ("ext2, ext3 or ext4", 0x438, b"\x53\xef"),
    ("XFS", 0, b"XFSB"),
    ("Btrfs", 0x10040, b"_BHRfS_M"),
    ("F2FS", 0x400, b"\x10\x20\xf5\xf2"),
    (
        "bcache or bcachefs",
        0x1018,
        b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca",
    ),
    ("NTFS", 3, b"NTFS    "),
    ("exFAT", 3, b"EXFAT   "),
    ("FAT", 54, b"FAT12   "),
    ("FAT", 54, b"FAT16   "),
    ("FAT", 82, b"FAT32   "),
    ("APFS", 32, b"NXSB"),
    ("HFS+", 0x400, b"H+"),
    ("ISO 9660", 0x8001, b"CD001"),
    ("UDF", 0x8001, b"BEA01"),
    ("SquashFS", 0, b"hsqs"),
    ("swap", 4086, b"SWAPSPACE2"),
    ("LUKS", 0, b"LUKS\xba\xbe"),
    ("BitLocker", 3, b"-FVE-FS-"),
    ("LVM", 512, b"LABELONE"),
    ("Linux RAID", 0, b"\xfc\x4e\x2b\xa9"),
    ("Linux RAID", 4096, b"\xfc\x4e\x2b\xa9"),
    ("ReiserFS", 0x10034, b"ReIsEr"),
    ("MBR or boot sector", 510, b"\x55\xaa"),
];

/// The signatures in `start`, the beginning of a target.
pub fn found(start: &[u8]) -> Vec<Signature> {
    let is_there = |(_, offset, magic): &&(&str, usize, &[u8])| {
        start
            .get(*offset..)
            .is_some_and(|rest| rest.starts_with(magic))
    };
    let signature = |&(name, offset, _): &(&'static str, usize, &[u8])| Signature {
        name,
        offset: offset as u64,
    };
    KNOWN.iter().filter(is_there).map(signature).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_found_at_their_places_alone() {
        for (name, offset, magic) in KNOWN {
            let mut start = vec![0; SEARCHED];
            start[offset..offset + magic.len()].copy_from_slice(magic);
            let expected = Signature {
                name,
                offset: offset as u64,
            };
            assert_eq!(found(&start), [expected]);
            start.remove(0);
            assert!(found(&start).is_empty() || offset == 0, "{name}");
            assert!(found(&start[..offset / 2]).is_empty(), "{name}");
        }
        assert!(found(&vec![0; SEARCHED]).is_empty());
    }
}
