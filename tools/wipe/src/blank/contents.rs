//! What a target holds: what its bytes look like, block by block (one repeated byte, random bytes, or data), and the
//! partition tables, file systems and volumes that are recognised by their signatures, at the places that libblkid and
//! the formats' own descriptions give.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

/// Length of a block that is judged, in bytes.
const BLOCK: usize = 4096;

/// Bounds of the sum in [`looks_random`]. For random bytes it has 255 degrees of freedom: it is outside
/// less than once in 10^15 blocks (by Wilson and Hilferty's approximation).
const EVEN: std::ops::Range<u64> = 110..516;

/// A first block of data that begins with so many equal bytes is blank up to there.
const LEAST: u64 = 16;

/// What a block looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BlockKind {
    /// This byte everywhere.
    Same(u8),
    /// All values about equally often.
    Random,
    /// Anything else.
    Data,
}

/// The first block of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct First {
    offset: u64,
    /// The byte with which it begins, and how often in a row.
    start: (u8, u64),
}

/// What was seen of a target, in any order.
#[derive(Clone, Debug, Default)]
pub struct Surface {
    firsts: BTreeMap<BlockKind, First>,
    /// Bytes that were seen.
    pub read: u64,
}

/// What a target holds, as far as it was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// Nothing was seen.
    Unknown,
    /// The same everywhere.
    Uniform(BlockKind),
    /// From this offset on it no longer is what it is at the beginning, but no data was seen.
    Mixed(u64),
    /// Data was seen. The offset is that of the first byte that is not as at the beginning; the beginning if
    /// that is data.
    Data(u64),
}

impl Surface {
    /// Looks at `bytes`, which are at `offset`.
    pub fn see(&mut self, offset: u64, bytes: &[u8]) {
        self.read += bytes.len() as u64;
        if is_constant(bytes) {
            self.note(offset, bytes, BlockKind::Same(bytes[0]));
            return;
        }
        for (offset, block) in (offset..).step_by(BLOCK).zip(bytes.chunks(BLOCK)) {
            let kind = match block {
                _ if is_constant(block) => BlockKind::Same(block[0]),
                _ if looks_random(block) => BlockKind::Random,
                _ => BlockKind::Data,
            };
            self.note(offset, block, kind);
        }
    }

    fn note(&mut self, offset: u64, block: &[u8], kind: BlockKind) {
        if self
            .firsts
            .get(&kind)
            .is_some_and(|first| first.offset <= offset)
        {
            return;
        }
        let equal = block.iter().take_while(|byte| **byte == block[0]);
        let start = (block[0], equal.count() as u64);
        self.firsts.insert(kind, First { offset, start });
    }

    /// Whether data was seen, so that nothing that follows matters.
    pub fn has_data(&self) -> bool {
        self.firsts.contains_key(&BlockKind::Data)
    }

    pub fn contents(&self) -> Contents {
        let mut firsts: Vec<_> = self.firsts.iter().collect();
        firsts.sort_by_key(|(_, first)| first.offset);
        match firsts[..] {
            [] => Contents::Unknown,
            [(BlockKind::Data, first), ..] => match first.start {
                (_, count @ LEAST..) => Contents::Data(first.offset + count),
                _ => Contents::Data(first.offset),
            },
            [(kind, _)] => Contents::Uniform(*kind),
            [(kind, _), (_, change), ..] => {
                // A block may begin as the ones before it ended.
                let kept = match change.start {
                    (byte, count) if *kind == BlockKind::Same(byte) => count,
                    _ => 0,
                };
                let at = change.offset + kept;
                match self.has_data() {
                    true => Contents::Data(at),
                    false => Contents::Mixed(at),
                }
            }
        }
    }
}

fn is_constant(bytes: &[u8]) -> bool {
    match bytes {
        [] => false,
        [_, rest @ ..] => bytes[..rest.len()] == *rest,
    }
}

/// Whether each value of a byte is about equally often in `block` (Pearson's chi-squared test). Encrypted
/// data looks like that, and so does much of what is well compressed.
fn looks_random(block: &[u8]) -> bool {
    let mut counts = [0_u64; 256];
    for byte in block {
        counts[usize::from(*byte)] += 1;
    }
    let length = block.len() as u64;
    let squares: u64 = counts.iter().map(|count| count * count).sum();
    EVEN.contains(&(256 * squares / length).saturating_sub(length))
}

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
pub fn signatures(start: &[u8]) -> Vec<Signature> {
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

    const MIB: usize = 1 << 20;

    fn random(length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        let mut stream = squall::Stream::new(&[7; 32]);
        stream.fill(&mut bytes).expect("a short stream");
        bytes
    }

    fn contents(parts: &[&[u8]]) -> Contents {
        let whole = parts.concat();
        let mut surface = Surface::default();
        // Transfers may end in any order.
        let mut pieces: Vec<_> = (0..).step_by(MIB).zip(whole.chunks(MIB)).collect();
        pieces.reverse();
        for (offset, piece) in pieces {
            surface.see(offset, piece);
        }
        assert_eq!(surface.read, whole.len() as u64);
        surface.contents()
    }

    #[test]
    fn uniform_targets_are_recognised() {
        for byte in [0, 0xff, 0x55] {
            let expected = Contents::Uniform(BlockKind::Same(byte));
            assert_eq!(contents(&[&vec![byte; 2 * MIB + 1]]), expected);
        }
        let expected = Contents::Uniform(BlockKind::Random);
        assert_eq!(contents(&[&random(3 * MIB + 777)]), expected);
        assert_eq!(contents(&[]), Contents::Unknown);
    }

    /// To the byte, if it is not random before.
    #[test]
    fn the_first_place_that_differs_is_found() {
        for at in [16, 511, 4096, MIB, 2 * MIB + 4097] {
            let found = contents(&[&vec![0; at], b"PK", &vec![0; MIB]]);
            assert_eq!(found, Contents::Data(at as u64));
        }
        let text = "Some text, which is data. ".repeat(100_000);
        let found = contents(&[&vec![0; 2 * MIB], text.as_bytes(), &random(MIB)]);
        assert_eq!(found, Contents::Data(2 * MIB as u64));
        let found = contents(&[&random(MIB), text.as_bytes()]);
        assert_eq!(found, Contents::Data(MIB as u64));
        for start in [text.as_bytes(), b"\0\0PK"] {
            let found = contents(&[start, &vec![0; MIB]]);
            assert_eq!(found, Contents::Data(0));
        }
    }

    /// What an interrupted wipe leaves of an empty drive.
    #[test]
    fn a_change_without_data_is_no_data() {
        let found = contents(&[&random(2 * MIB), &vec![0; MIB]]);
        assert_eq!(found, Contents::Mixed(2 * MIB as u64));
        let found = contents(&[&vec![0; MIB], &vec![0xff; MIB]]);
        assert_eq!(found, Contents::Mixed(MIB as u64));
    }

    #[test]
    fn text_tables_and_counters_do_not_look_random() {
        let text = "Some text, which is data. ".repeat(160);
        let counter: Vec<u8> = (0..BLOCK).map(|at| at as u8).collect();
        let mut table = random(BLOCK);
        table[100..200].fill(0);
        for block in [text.as_bytes(), &counter, &table] {
            assert!(!looks_random(block));
        }
        assert!(random(4 * MIB).chunks(BLOCK).all(looks_random));
        assert!(random(4 * MIB).chunks(512).all(looks_random));
    }

    #[test]
    fn signatures_are_found_at_their_places_alone() {
        for (name, offset, magic) in KNOWN {
            let mut start = vec![0; SEARCHED];
            start[offset..offset + magic.len()].copy_from_slice(magic);
            let expected = Signature {
                name,
                offset: offset as u64,
            };
            assert_eq!(signatures(&start), [expected]);
            start.remove(0);
            assert!(signatures(&start).is_empty() || offset == 0, "{name}");
            assert!(signatures(&start[..offset / 2]).is_empty(), "{name}");
        }
        assert!(signatures(&vec![0; SEARCHED]).is_empty());
    }
}
