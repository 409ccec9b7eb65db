//! Finds which devices stand on others: partitions, loop devices, and what sysfs calls holders
//! (RAID, LVM, encryption, caches); and which devices of one disk share bytes.

use std::io;

use squall_tools::Failure;
use squall_tools::failure::cause;

use super::loops::{self, LoopDevice};
use crate::target::device::{Device, Number, devices_in};
use crate::{Target, shown};

/// All devices that stand on `device`, directly or through others, but not through `chain`. They
/// include the partitions of its holders, but not its own.
pub(super) fn standing_on(
    device: &Device,
    loops: &[LoopDevice],
    chain: &[Device],
) -> io::Result<Vec<Device>> {
    closure(vec![device.clone()], |below| {
        let mut above = devices_in(&below.join("holders"))?;
        // Each mapped device uses a part of its own of what it stands on.
        if above.iter().any(|holder| chain.contains(holder)) {
            above.clear();
        }
        let on_it = loops
            .iter()
            .filter(|on| on.on_device() == Some(below.number));
        above.extend(on_it.map(|on| on.device.clone()));
        if below != device {
            above.extend(below.partitions()?);
        }
        above.retain(|holder| !chain.contains(holder));
        Ok(above)
    })
}

/// `device` and all devices whose data it holds, down to drives or a file behind a loop device.
pub(super) fn chain(device: &Device, loops: &[LoopDevice]) -> io::Result<Vec<Device>> {
    let below = closure(vec![device.clone()], |above| {
        below(above, loops, LoopDevice::on_device)
    })?;
    Ok([vec![device.clone()], below].concat())
}

/// All devices that `device` stands on, directly or through devices and files, down to drives.
pub(super) fn lower_devices(device: &Device, loops: &[LoopDevice]) -> io::Result<Vec<Device>> {
    closure(vec![device.clone()], |above| {
        below(above, loops, |on| Some(on.lower_device()))
    })
}

/// The devices directly below `above`. For a loop device, `lower_device` gives the one below it.
fn below(
    above: &Device,
    loops: &[LoopDevice],
    lower_device: impl Fn(&LoopDevice) -> Option<Number>,
) -> io::Result<Vec<Device>> {
    let mut below = devices_in(&above.join("slaves"))?;
    below.push(above.disk());
    let behind = loops.iter().filter(|on| on.device == *above);
    below.extend(behind.filter_map(|on| Device::at(lower_device(on)?).ok()));
    Ok(below)
}

/// All devices that `next` leads to from `found`, directly or in steps, without `found` itself.
fn closure(
    mut found: Vec<Device>,
    next: impl Fn(&Device) -> io::Result<Vec<Device>>,
) -> io::Result<Vec<Device>> {
    let first = found.len();
    let mut seen = 0;
    while let Some(device) = found.get(seen) {
        for device in next(device)? {
            if !found.contains(&device) {
                found.push(device);
            }
        }
        seen += 1;
    }
    found.drain(..first);
    Ok(found)
}

/// The devices whose use counts as use of `device`: itself, its partitions, its disk, and other
/// partitions of that disk that it overlaps or, as an extended partition, leads to.
pub(super) fn family(device: &Device) -> io::Result<Vec<Device>> {
    let disk = device.disk();
    let mut family = vec![device.clone()];
    let mut others = disk.partitions()?;
    if let Some(part) = Partition::from_device(device) {
        others.retain(|other| {
            Partition::from_device(other).is_some_and(|other| part.overlaps_or_leads_to(&other))
        });
        others.retain(|other| other != device);
        family.push(disk);
    }
    family.extend(others);
    Ok(family)
}

/// The kind and name of a family member, for messages: `partition sda1`.
pub(super) fn relative_name(member: &Device) -> String {
    let kind = match member.partition() {
        Some(_) => "partition",
        None => "disk",
    };
    format!("{kind} {}", member.name())
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

/// The devices that stand, directly or through others, on `target`, its partitions or its disk,
/// without those for which `is_ours` is true. It is given the device mapper's name where there is
/// one, and else the kernel's.
pub fn holders(target: &Target, is_ours: impl Fn(&str) -> bool) -> Result<Vec<String>, Failure> {
    let Some(device) = target.device() else {
        return Ok(Vec::new());
    };
    let found = all_holders(device, &loops::all()?).map_err(|error| {
        let name = shown(&target.identity.path);
        Failure::Runtime(format!("{name}: {}", cause(&error)))
    })?;
    let is_others = |holder: &&Device| !is_ours(&own_name(holder));
    Ok(found
        .iter()
        .filter(is_others)
        .map(Device::full_name)
        .collect())
}

fn all_holders(device: &Device, loops: &[LoopDevice]) -> io::Result<Vec<Device>> {
    let mut found = Vec::new();
    for member in family(device)? {
        found.extend(standing_on(&member, loops, &[])?);
    }
    found.sort();
    found.dedup();
    Ok(found)
}

fn own_name(device: &Device) -> String {
    device.text("dm/name").unwrap_or_else(|| device.name())
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
