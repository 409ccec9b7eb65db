//! Finds what keeps data of a target that overwriting it does not reach: other volumes of its thin pool, members that
//! have left its array, and the like.

use std::io;

use squall_tool_base::Failure;
use squall_tool_base::failure::at;

use super::mapped::Tables;
use super::{loops, stack};
use crate::Target;
use crate::target::device::{Device, devices_in};

/// What a mapped device with a target of this type leaves behind.
fn left_by(target_type: &str) -> Option<&'static str> {
    Some(match target_type {
        "cache" | "writecache" => "the devices of its cache may keep older copies",
        "clone" => "the device that it was cloned from keeps its data",
        "mirror" | "raid" => "drives that have left its array keep what they held",
        "snapshot" => "its origin keeps its data",
        "vdo" => "its pool writes changes to other places, and older copies stay there",
        _ => return None,
    })
}

/// What keeps data of `target` that overwriting it does not reach, as far as the kernel shows it: a clause each.
pub fn older_copies(target: &Target) -> Vec<String> {
    let Some(device) = target.device() else {
        return Vec::new();
    };
    below(device).unwrap_or_else(|why| {
        let why = why.into_text();
        vec![format!("squall cannot tell what keeps older copies: {why}")]
    })
}

/// What `device` and the devices that it stands on leave behind.
fn below(device: &Device) -> Result<Vec<String>, Failure> {
    let loops = loops::all()?;
    let find = || {
        let chain = stack::chain(device, &loops)?;
        let tables = match chain.iter().any(|it| it.has("dm")) {
            true => Tables::read()?,
            false => Tables::default(),
        };
        let found = chain.iter().map(|it| of_device(it, &chain, &tables));
        Ok(found.collect::<io::Result<Vec<_>>>()?.concat())
    };
    find().map_err(at(&device.path()))
}

/// What `device`, one of `chain`, leaves behind.
fn of_device(device: &Device, chain: &[Device], tables: &Tables) -> io::Result<Vec<String>> {
    let name = device.full_name();
    let mut found = Vec::new();
    let missing = device.value("md/degraded").filter(|missing| *missing > 0);
    if let Some(missing) = missing {
        // While an array is reshaped, its earlier number follows.
        let all = device.text("md/raid_disks").unwrap_or_default();
        let all = all.split(' ').next().unwrap_or_default();
        found.push(format!(
            "{name}: members missing: {missing} of {all}; they keep what they held"
        ));
    }
    if device.name().starts_with("bcache") && device.partition().is_none() {
        found.push(format!(
            "{name}: the device of its cache may keep older copies"
        ));
    }
    let Some(types) = tables.types(device) else {
        found.push(format!("{name}: only root can tell what it is made of"));
        return Ok(found);
    };
    let left = types.iter().filter_map(|it| left_by(it));
    found.extend(left.map(|what| format!("{name}: {what}")));
    if tables.has_target(device, "thin-pool") {
        found.push(of_thin_pool(device, chain, tables)?);
    }
    if tables.has_target(device, "thin") {
        let below = devices_in(&device.join("slaves"))?.into_iter();
        let origins = below.filter(|it| !tables.has_target(it, "thin-pool"));
        let kept = |it: Device| {
            format!(
                "{name}: its external origin {} keeps its data",
                it.full_name()
            )
        };
        found.extend(origins.map(kept));
    }
    Ok(found)
}

/// Only the pool's metadata tell which of its volumes are snapshots, and of which. Those that are not in use have no
/// device.
fn of_thin_pool(pool: &Device, chain: &[Device], tables: &Tables) -> io::Result<String> {
    let holders = devices_in(&pool.join("holders"))?.into_iter();
    let is_other = |it: &Device| !chain.contains(it) && tables.has_target(it, "thin");
    let others: Vec<_> = holders.filter(is_other).map(|it| it.full_name()).collect();
    let named = match others.is_empty() {
        true => String::new(),
        false => format!(" (active: {})", others.join(", ")),
    };
    Ok(format!(
        "thin pool {}: its snapshots, also those that are not active, and blocks that were freed keep old data: `lvs -a` \
         shows its volumes{named}",
        pool.full_name()
    ))
}
