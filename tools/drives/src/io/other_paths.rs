//! Claims the other paths to the medium of a target: the kernel lets somebody mount a drive by one path while it is
//! overwritten by another.

use std::collections::BTreeMap;
use std::fs::File;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use rustix::fs::OFlags;
use rustix::io::Errno;
use squall_tools::retry::retry;

use super::claim::{self, CLAIM_TIMEOUT, why};
use crate::target::device::Device;
use crate::{Number, Target, guards};

/// The other paths, open exclusively and locked until this is dropped. Targets of one process that are on one drive share
/// them.
pub struct OtherPaths(Vec<Arc<File>>);

/// The paths that this process has claimed.
static CLAIMED: Mutex<BTreeMap<Number, Weak<File>>> = Mutex::new(BTreeMap::new());

impl OtherPaths {
    /// Claims them for `target`. Fails with the reason if somebody else uses the medium by one of them.
    pub fn claim(target: &Target) -> Result<OtherPaths, String> {
        let found = guards::other_paths(target)?;
        let claim = |device: &Device| {
            let mut claims = CLAIMED.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(ours) = claims.get(&device.number).and_then(Weak::upgrade) {
                return Ok(ours);
            }
            let claimed = retry(CLAIM_TIMEOUT, |_| true, || claim_path(device));
            let claimed = claimed.map(Arc::new);
            let claimed = claimed.inspect(|file| {
                claims.insert(device.number, Arc::downgrade(file));
            });
            claimed.map_err(|error| reason(device, &error))
        };
        Ok(OtherPaths(
            found.iter().map(claim).collect::<Result<_, _>>()?,
        ))
    }

    /// Makes the kernel read their partition tables again. Fails with [`Errno::BUSY`] if somebody has a partition open.
    pub fn reread_partitions(&self) -> Result<(), Errno> {
        let paths = self.0.iter();
        let mut reread = paths.map(|path| claim::reread_partitions_in_time(path));
        match reread.any(|result| result == Err(Errno::BUSY)) {
            true => Err(Errno::BUSY),
            false => Ok(()),
        }
    }

    /// Makes the kernel forget the partitions that it has read by them.
    pub fn forget_partitions(&self) {
        for path in &self.0 {
            claim::forget_partitions(path);
        }
    }
}

/// Why the other path `device` cannot be claimed at this moment; `None` if it can.
pub fn claim_on_path(device: &Device) -> Option<String> {
    claim_path(device).err().map(|error| reason(device, &error))
}

/// Why `device` cannot be claimed at this moment; `None` if it can.
pub fn claim_on(device: &Device) -> Option<String> {
    claim_path(device).err().map(|error| why(&error))
}

/// Why the other path `device` cannot be claimed, and what to do about one that is dead.
fn reason(device: &Device, error: &Errno) -> String {
    let (name, why) = (device.name(), why(error));
    match *error {
        Errno::BUSY | Errno::WOULDBLOCK | Errno::ACCESS | Errno::PERM => {
            format!("its other path {name}: {why}")
        }
        _ => format!("its other path {name}: {why}: mend or detach that path"),
    }
}

fn claim_path(device: &Device) -> Result<File, Errno> {
    let file = device.open(OFlags::EXCL)?;
    claim::try_claim(&file, true)?;
    Ok(file)
}
