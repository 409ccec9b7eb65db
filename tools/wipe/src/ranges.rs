//! Sets of bytes of a target: those that were refused, and those that differ.

use rangemap::RangeSet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// This many equal bytes between two differing ones make them two ranges.
const GAP: u64 = 16;

/// The most ranges that are listed: a few megabytes of a report.
const LISTED: usize = 100_000;

/// A range of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Extent {
    /// Offset of the first byte.
    pub offset: u64,
    /// Number of bytes.
    #[schemars(range(min = 1))]
    pub length: u64,
}

impl Extent {
    pub const fn new(offset: u64, length: u64) -> Extent {
        Extent { offset, length }
    }

    /// The offset behind the last byte.
    pub fn end(self) -> u64 {
        self.offset + self.length
    }

    /// Its parts between multiples of `length`.
    pub fn pieces(self, length: u64) -> impl Iterator<Item = Extent> {
        let next = move |at: &u64| Some((at / length + 1) * length);
        let offsets = std::iter::successors(Some(self.offset), next);
        let within = offsets.take_while(move |at| *at < self.end());
        within.map(move |at| Extent::new(at, ((at / length + 1) * length).min(self.end()) - at))
    }
}

#[derive(Clone, Debug, Default)]
pub struct Ranges(RangeSet<u64>);

impl Ranges {
    /// The bytes of `extents` before `end`.
    pub fn before(extents: &[Extent], end: u64) -> Ranges {
        let cut = |extent: &Extent| extent.offset..extent.end().min(end);
        Ranges(extents.iter().map(cut).filter(|r| !r.is_empty()).collect())
    }

    pub fn add(&mut self, extent: Extent) {
        if extent.length > 0 {
            self.0.insert(extent.offset..extent.end());
        }
    }

    pub fn extents(&self) -> Vec<Extent> {
        let ranges = self.0.iter();
        ranges
            .map(|range| Extent::new(range.start, range.end - range.start))
            .collect()
    }

    /// Whether all of `extent` is in the set.
    pub fn covers(&self, extent: Extent) -> bool {
        let range = extent.offset..extent.end();
        self.0.gaps(&range).next().is_none()
    }
}

/// Bytes that differ from what they should be.
#[derive(Clone, Debug, Default)]
pub struct Differences {
    ranges: Ranges,
    /// The number of bytes that differ.
    pub bytes: u64,
    /// The number of ranges that are not listed.
    pub unlisted: u64,
}

impl Differences {
    /// The differences that were recorded before an interruption.
    pub fn resumed(extents: &[Extent], bytes: u64, unlisted: u64) -> Differences {
        Differences {
            ranges: Ranges::before(extents, u64::MAX),
            bytes,
            unlisted,
        }
    }

    /// Compares the bytes found at `offset` with the expected ones. Returns what is new in the list.
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
                Some(last) if at - last.end() < GAP => {
                    last.length = at + 1 - last.offset;
                }
                _ => new.push(Extent::new(at, 1)),
            }
        }
        new.retain(|extent| self.list(*extent));
        new
    }

    pub fn extents(&self) -> Vec<Extent> {
        let mut joined: Vec<Extent> = Vec::new();
        for extent in self.ranges.extents() {
            match joined.last_mut() {
                Some(last) if extent.offset - last.end() < GAP => {
                    last.length = extent.end() - last.offset;
                }
                _ => joined.push(extent),
            }
        }
        joined
    }

    /// Adds `extent` to the list if there is room. Returns whether there was.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_end_at_multiples_of_their_length() {
        let pieces: Vec<_> = Extent::new(5, 20).pieces(10).collect();
        let expected = [(5, 5), (10, 10), (20, 5)];
        assert_eq!(
            pieces,
            expected.map(|(offset, length)| Extent::new(offset, length))
        );
        assert_eq!(Extent::new(10, 0).pieces(10).count(), 0);
    }
}
