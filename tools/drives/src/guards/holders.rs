//! Finds the devices that stand on a claimed target and do not belong to whoever claimed it.

use std::io;

use squall_tools::Failure;
use squall_tools::failure::cause;

use super::loops::{self, Attached};
use super::{family, stack};
use crate::target::device::Device;
use crate::{Target, shown};

/// The devices that stand, directly or through others, on `target`, its partitions or its disk,
/// without those for which `is_ours` is true. It is given the device mapper's name where there is
/// one, and else the kernel's.
pub fn holders(target: &Target, is_ours: impl Fn(&str) -> bool) -> Result<Vec<String>, Failure> {
    let Some(device) = target.device() else {
        return Ok(Vec::new());
    };
    let found = all(device, &loops::all()?).map_err(|error| {
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

fn all(device: &Device, loops: &[Attached]) -> io::Result<Vec<Device>> {
    let mut found = Vec::new();
    for member in family::family(device)? {
        found.extend(stack::holders(&member, loops, &[])?);
    }
    found.sort();
    found.dedup();
    Ok(found)
}

fn own_name(device: &Device) -> String {
    device.text("dm/name").unwrap_or_else(|| device.name())
}
