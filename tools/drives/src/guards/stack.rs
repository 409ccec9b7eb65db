//! Finds which devices stand on others: partitions, loop devices, and what sysfs calls holders
//! (RAID, LVM, encryption, caches); and which devices of one medium share bytes.

use std::io;

use squall_tool_base::Failure;
use squall_tool_base::failure::cause;

use super::loops::{self, LoopDevice};
use super::mapped::Tables;
use crate::target::device::{Device, Number, devices_in};
use crate::target::medium::Media;
use crate::target::partition::share_bytes;
use crate::{Target, shown};

/// All devices that stand on `device`, directly or through others, but not through `chain`. They
/// include the partitions of its holders, but not its own.
pub(super) fn standing_on(
    device: &Device,
    loops: &[LoopDevice],
    tables: &Tables,
    chain: &[Device],
) -> io::Result<Vec<Device>> {
    closure(vec![device.clone()], |below| {
        let mut above = devices_in(&below.join("holders"))?;
        let is_ours = |holder: &&Device| chain.contains(holder);
        let ours: Vec<Device> = above.iter().filter(is_ours).cloned().collect();
        // What stands beside ours may take another part of the device below. A thin pool gives each of its volumes
        // blocks of its own when it is written to.
        if !ours.is_empty() {
            let is_pool = tables.has_target(below, "thin-pool");
            let overlaps = |holder: &Device| {
                let mut ours = ours.iter();
                !is_pool && ours.any(|it| tables.may_overlap(it, holder, below))
            };
            above.retain(overlaps);
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

/// The devices whose use counts as use of `device`: itself, its partitions, its disk, other
/// partitions of that disk that it overlaps or, as an extended partition, leads to; and all of these
/// by other paths to its medium.
pub(super) fn family(device: &Device, media: &Media) -> io::Result<Vec<Device>> {
    let disk = device.disk();
    let mut family = vec![device.clone()];
    for path in [vec![disk.clone()], media.other_paths(&disk)].concat() {
        for member in family_by(&path, device)? {
            if !family.contains(&member) {
                family.push(member);
            }
        }
    }
    Ok(family)
}

/// The whole device `path`, which leads to the medium of `device`, and those of its partitions that share bytes with
/// `device`.
pub(super) fn family_by(path: &Device, device: &Device) -> io::Result<Vec<Device>> {
    let mut members = path.partitions()?;
    members.retain(|member| share_bytes(device, member));
    members.insert(0, path.clone());
    Ok(members)
}

/// The kind and name of a family member of `device`, for messages: `partition sda1`.
pub(super) fn relative_name(member: &Device, device: &Device) -> String {
    let kind = match member.partition() {
        _ if member.disk() != device.disk() => "other path",
        Some(_) => "partition",
        None => "disk",
    };
    format!("{kind} {}", member.name())
}

/// `chain` without disks that are in it only because of a partition.
pub(super) fn parts(chain: &[Device]) -> impl Iterator<Item = &Device> {
    chain
        .iter()
        .filter(|device| !is_disk_of_part(device, chain))
}

/// Whether `device` is in `chain` only as the disk of a partition that is in it.
pub(super) fn is_disk_of_part(device: &Device, chain: &[Device]) -> bool {
    let mut others = chain.iter().filter(|other| *other != device);
    others.any(|other| other.disk() == *device)
}

/// The devices by which others could use the bytes that `chain` stands on: those on other paths to their media.
pub(super) fn other_paths(chain: &[Device], media: &Media) -> io::Result<Vec<Device>> {
    let mut found = Vec::new();
    for part in parts(chain) {
        for path in media.other_paths(&part.disk()) {
            if chain.contains(&path) {
                continue;
            }
            let mut members = match part.partition() {
                Some(_) => path.partitions()?,
                None => Vec::new(),
            };
            members.retain(|member| share_bytes(part, member));
            // The kernel may not have read the partition table there, or an earlier one.
            if members.is_empty() {
                members.push(path);
            }
            found.extend(members);
        }
    }
    Ok(found)
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
    let tables = Tables::read()?;
    let mut found = Vec::new();
    for member in family(device, &Media::all()?)? {
        found.extend(standing_on(&member, loops, &tables, &[])?);
    }
    found.sort();
    found.dedup();
    Ok(found)
}

fn own_name(device: &Device) -> String {
    device.text("dm/name").unwrap_or_else(|| device.name())
}
