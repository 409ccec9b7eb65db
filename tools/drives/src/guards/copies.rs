//! Finds what keeps data of a target that overwriting it does not reach: other volumes of its thin pool, members that
//! have left its array, and the like.

use std::io;

use squall_tools::failure::at;

use super::{loops, mapped, stack};
use crate::Target;
use crate::target::device::{Device, devices_in};

/// What keeps older copies below a mapped device, by the kind of its target.
const KEEPERS: [(&str, &str); 7] = [
    ("cache", "the devices of its cache may keep older copies"),
    ("clone", "the device that it was cloned from keeps its data"),
    (
        "mirror",
        "drives that have left its array keep what they held",
    ),
    (
        "raid",
        "drives that have left its array keep what they held",
    ),
    ("snapshot", "its origin keeps its data"),
    (
        "vdo",
        "its pool writes changes to other places, and older copies stay there",
    ),
    (
        "writecache",
        "the devices of its cache may keep older copies",
    ),
];

/// What keeps data of `target` that overwriting it does not reach, as far as the kernel shows it: a clause each.
pub fn older_copies(target: &Target) -> Vec<String> {
    let find = |device| {
        let found = stack::chain(device, &loops::all()?).and_then(|chain| {
            let kept = chain.iter().map(|it| of_device(it, &chain));
            Ok(kept.collect::<io::Result<Vec<_>>>()?.concat())
        });
        found.map_err(at(&target.identity.path))
    };
    let found = target.device().map(find);
    found.unwrap_or(Ok(Vec::new())).unwrap_or_else(|failure| {
        let why = failure.into_text();
        vec![format!("squall cannot tell what keeps older copies: {why}")]
    })
}

/// What `device` keeps, which is one of `chain`.
fn of_device(device: &Device, chain: &[Device]) -> io::Result<Vec<String>> {
    let name = device.full_name();
    let mut found = Vec::new();
    let missing = device.value("md/degraded").filter(|missing| *missing > 0);
    if let Some(missing) = missing {
        let all = device.value("md/raid_disks").unwrap_or_default();
        found.push(format!(
            "{name}: {missing} of its {all} members are missing, and keep what they held"
        ));
    }
    let kinds = mapped::kinds(device);
    let keepers = KEEPERS
        .iter()
        .filter(|(kind, _)| kinds.iter().any(|it| it == kind));
    found.extend(keepers.map(|(_, what)| format!("{name}: {what}")));
    if kinds.iter().any(|kind| kind == "thin-pool") {
        found.push(of_thin_pool(device, chain)?);
    }
    Ok(found)
}

/// Only the pool's metadata tell which of its volumes are snapshots, and of which.
fn of_thin_pool(pool: &Device, chain: &[Device]) -> io::Result<String> {
    let holders = devices_in(&pool.join("holders"))?.into_iter();
    let is_other = |holder: &Device| {
        let is_thin = || mapped::kinds(holder).iter().any(|kind| kind == "thin");
        !chain.contains(holder) && is_thin()
    };
    let others: Vec<_> = holders.filter(is_other).map(|it| it.full_name()).collect();
    let name = pool.full_name();
    Ok(match others.is_empty() {
        true => format!("the thin pool {name} may hold old data in blocks that were freed"),
        false => format!(
            "other volumes of the thin pool {name} may be its snapshots, which keep its old data: {}",
            others.join(", ")
        ),
    })
}
