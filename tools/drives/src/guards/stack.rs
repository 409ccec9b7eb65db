//! Finds which devices stand on others: partitions, loop devices, and what sysfs calls holders
//! (RAID, LVM, encryption, caches).

use std::io;

use super::loops::Attached;
use crate::target::device::{Device, Number, devices_in};

/// All devices that stand on `device`, directly or through others, but not through `chain`. They
/// include the partitions of its holders, but not its own.
pub(super) fn holders(
    device: &Device,
    loops: &[Attached],
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
pub(super) fn chain(device: &Device, loops: &[Attached]) -> io::Result<Vec<Device>> {
    let below = closure(vec![device.clone()], |above| {
        below(above, loops, Attached::on_device)
    })?;
    Ok([vec![device.clone()], below].concat())
}

/// All devices that `device` stands on, directly or through devices and files, down to drives.
pub(super) fn lower_devices(device: &Device, loops: &[Attached]) -> io::Result<Vec<Device>> {
    closure(vec![device.clone()], |above| {
        below(above, loops, |on| Some(on.lower_device()))
    })
}

/// The devices directly below `above`. For a loop device, `lower_device` gives the one below it.
fn below(
    above: &Device,
    loops: &[Attached],
    lower_device: impl Fn(&Attached) -> Option<Number>,
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
