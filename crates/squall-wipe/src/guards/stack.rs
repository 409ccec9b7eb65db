//! Which devices stand on others: partitions, loop devices, and what sysfs calls holders (RAID,
//! LVM, encryption, caches).

use std::io;

use super::loops::Attached;
use crate::target::device::{Device, devices_in};

/// All devices that stand on `device`, also by way of others. Its partitions are not among them,
/// those of its holders are.
pub(super) fn holders(device: &Device, loops: &[Attached]) -> io::Result<Vec<Device>> {
    closure(vec![device.clone()], |below| {
        let mut above = devices_in(&below.join("holders"))?;
        let on_it = loops.iter().filter(|on| on.is_on_device(below.number));
        above.extend(on_it.map(|on| on.device.clone()));
        if below != device {
            above.extend(below.partitions()?);
        }
        Ok(above)
    })
}

/// All devices that `device` stands on, also by way of others, down to drives.
pub(super) fn grounds(device: &Device, loops: &[Attached]) -> io::Result<Vec<Device>> {
    closure(vec![device.clone()], |above| {
        let mut below = devices_in(&above.join("slaves"))?;
        below.push(above.disk());
        let behind = loops.iter().filter(|on| on.device == *above);
        below.extend(behind.filter_map(|on| Device::at(on.ground()).ok()));
        Ok(below)
    })
}

/// What `next` leads to from `found`, without those that it began with.
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
