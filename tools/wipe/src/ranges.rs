//! Sets of bytes of a target: which were refused, which differ.

use rangemap::RangeSet;

use crate::record::Extent;

/// Equal bytes between two differing ones that make them two ranges.
const GAP: u64 = 16;

/// Most ranges that are listed: a few megabytes of a report.
const LISTED: usize = 100_000;

/// Bytes of a target, in any order.
#[derive(Clone, Debug, Default)]
pub struct Ranges(RangeSet<u64>);

impl Ranges {
    /// Those of `extents` that begin before `end`, up to there.
    pub fn before(extents: &[Extent], end: u64) -> Ranges {
        let cut = |extent: &Extent| extent.offset..(extent.offset + extent.length).min(end);
        Ranges(extents.iter().map(cut).filter(|r| !r.is_empty()).collect())
    }

    /// Adds a range.
    pub fn add(&mut self, extent: Extent) {
        self.0.insert(extent.offset..extent.offset + extent.length);
    }

    /// The ranges, in order.
    pub fn extents(&self) -> Vec<Extent> {
        let extent = |range: &std::ops::Range<u64>| Extent {
            offset: range.start,
            length: range.end - range.start,
        };
        self.0.iter().map(extent).collect()
    }

    /// Whether all of `extent` is in it.
    pub fn covers(&self, extent: Extent) -> bool {
        let range = extent.offset..extent.offset + extent.length;
        self.0.gaps(&range).next().is_none()
    }
}

/// Bytes that differ from what they should be.
#[derive(Clone, Debug, Default)]
pub struct Differences {
    ranges: Ranges,
    /// How many bytes.
    pub bytes: u64,
    /// Ranges that are not listed.
    pub unlisted: u64,
}

impl Differences {
    /// What is known already.
    pub fn resumed(extents: &[Extent], bytes: u64, unlisted: u64) -> Differences {
        Differences {
            ranges: Ranges::before(extents, u64::MAX),
            bytes,
            unlisted,
        }
    }

    /// Compares what was found at `offset` with what should be there, and gives what is new.
    pub fn compare(&mut self, offset: u64, found: &[u8], expected: &[u8]) -> Vec<Extent> {
        if found == expected {
            return Vec::new();
        }
        let pairs = found.iter().zip(expected).enumerate();
        let differing = pairs.filter(|(_, (found, expected))| found != expected);
        let mut new: Vec<Extent> = Vec::new();
        for (at, _) in differing {
            self.bytes += 1;
            let at = offset + at as u64;
            match new.last_mut() {
                Some(last) if at - (last.offset + last.length) < GAP => {
                    last.length = at + 1 - last.offset;
                }
                _ => new.push(Extent {
                    offset: at,
                    length: 1,
                }),
            }
        }
        new.retain(|extent| self.list(*extent));
        new
    }

    /// The ranges that are listed, in order.
    pub fn extents(&self) -> Vec<Extent> {
        let mut joined: Vec<Extent> = Vec::new();
        for extent in self.ranges.extents() {
            match joined.last_mut() {
                Some(last) if extent.offset - (last.offset + last.length) < GAP => {
                    last.length = extent.offset + extent.length - last.offset;
                }
                _ => joined.push(extent),
            }
        }
        joined
    }

    /// Whether there is room for `extent` in the list, where it then is.
    fn list(&mut self, extent: Extent) -> bool {
        let has_room = self.ranges.0.len() < LISTED;
        if has_room {
            self.ranges.add(extent)
        } else {
            self.unlisted += 1
        }
        has_room
    }
}
