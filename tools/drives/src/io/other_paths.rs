//! Claims the other paths to the medium of a target: the kernel lets somebody mount a drive by one path while it is
//! overwritten by another.

use std::collections::BTreeMap;
use std::fs::File;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use rustix::fs::OFlags;
use rustix::io::Errno;
use squall_tool_base::retry::retry;

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
        Ok(OtherPaths(
            found.iter().map(claim_path).collect::<Result<_, _>>()?,
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

/// Claims the path `device`, unless this process has.
fn claim_path(device: &Device) -> Result<Arc<File>, String> {
    if let Some(ours) = ours(device) {
        return Ok(ours);
    }
    let passes = |error: &Errno| [Errno::BUSY, Errno::WOULDBLOCK].contains(error);
    let claimed = retry(CLAIM_TIMEOUT, passes, || open_claimed(device));
    let claimed = Arc::new(claimed.map_err(|error| reason(device, &error))?);
    let mut claims = CLAIMED.lock().unwrap_or_else(PoisonError::into_inner);
    claims.insert(device.number, Arc::downgrade(&claimed));
    Ok(claimed)
}

/// The path `device`, if this process has claimed it for a target on the same drive.
fn ours(device: &Device) -> Option<Arc<File>> {
    let claims = CLAIMED.lock().unwrap_or_else(PoisonError::into_inner);
    claims.get(&device.number)?.upgrade()
}

/// Whether this process has claimed `target` as the other path to another target.
pub fn is_other_path_of_ours(target: &Target) -> bool {
    target.device().is_some_and(|device| ours(device).is_some())
}

/// Why the other path `device` cannot be claimed at this moment; `None` if it can.
pub fn claim_on_path(device: &Device) -> Option<String> {
    open_claimed(device)
        .err()
        .map(|error| reason(device, &error))
}

/// Why `device` cannot be claimed at this moment; `None` if it can.
pub fn claim_on(device: &Device) -> Option<String> {
    open_claimed(device).err().map(|error| why(&error))
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

fn open_claimed(device: &Device) -> Result<File, Errno> {
    let file = device.open(OFlags::EXCL)?;
    claim::try_claim(&file, true)?;
    Ok(file)
}
