//! Which partitions of a medium share bytes.

use super::device::Device;

/// Whether overwriting `device` destroys something of `other`, if both are on one medium.
pub(crate) fn share_bytes(device: &Device, other: &Device) -> bool {
    match [device, other].map(Partition::from_device) {
        [Some(part), Some(other)] => part.overlaps_or_leads_to(&other),
        _ => true,
    }
}

/// The number and position of a partition. Lengths are in units of 512 bytes.
#[derive(Clone, Copy, Debug)]
struct Partition {
    number: u64,
    start: u64,
    length: u64,
    /// Length of the disk's logical sectors.
    sector: u64,
}

impl Partition {
    fn from_device(device: &Device) -> Option<Partition> {
        const UNIT: u64 = 512;
        let sector = device.disk().value("queue/logical_block_size");
        Some(Partition {
            number: device.partition()?,
            start: device.value("start")?,
            length: device.value("size")?,
            sector: sector.unwrap_or(UNIT) / UNIT,
        })
    }

    /// Whether overwriting this partition destroys `other`, or the entry that leads to it.
    fn overlaps_or_leads_to(&self, other: &Partition) -> bool {
        let is_apart =
            self.start + self.length <= other.start || other.start + other.length <= self.start;
        !is_apart || self.is_extended() && other.is_logical()
    }

    /// Whether it may be the extended partition of an MS-DOS table, of which the kernel shows only
    /// the two sectors that lead to the logical ones (parse_extended in block/partitions/msdos.c).
    fn is_extended(&self) -> bool {
        !self.is_logical() && self.length <= self.sector.max(2)
    }

    /// Whether it would be a logical partition in an MS-DOS table.
    fn is_logical(&self) -> bool {
        self.number >= 5
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_and_extended_partitions() {
        let part = |number, start, length| Partition {
            number,
            start,
            length,
            sector: 1,
        };
        let extended = part(2, 100, 2);
        let cases = [
            (part(1, 0, 100), extended, false),
            (part(1, 0, 101), extended, true),
            (extended, part(1, 0, 101), true),
            (extended, part(1, 0, 100), false),
            (part(1, 50, 10), part(3, 0, 100), true),
            (extended, part(5, 200, 50), true),
            (extended, part(3, 200, 50), false),
            (part(2, 100, 3), part(5, 200, 50), false),
            (part(6, 100, 2), part(5, 200, 50), false),
            (part(5, 200, 50), extended, false),
        ];
        for (one, other, expected) in cases {
            assert_eq!(
                one.overlaps_or_leads_to(&other),
                expected,
                "{one:?} {other:?}"
            );
        }
        let large = Partition {
            sector: 8,
            ..part(2, 100, 8)
        };
        assert!(large.overlaps_or_leads_to(&part(5, 200, 50)));
    }
}
