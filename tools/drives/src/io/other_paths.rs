//! Claims the other paths to the medium of a target: the kernel lets somebody mount a drive by one path while it is
//! overwritten by another.

use std::fs::File;
use std::os::unix::fs::MetadataExt;

use rustix::fs::OFlags;
use rustix::io::Errno;
use squall_tools::retry::retry;

use super::claim::{self, CLAIM_TIMEOUT};
use super::device::{Access, open, why};
use crate::target::device::Device;
use crate::{Number, Target, guards};

/// The other paths, open exclusively and locked until this is dropped.
pub struct OtherPaths(Vec<File>);

impl OtherPaths {
    /// Claims them for `target`. Fails with the reason if somebody else uses the medium by one of them.
    pub fn claim(target: &Target) -> Result<OtherPaths, String> {
        let found = guards::other_paths(target)?;
        let claim = |device: &Device| {
            let claimed = retry(CLAIM_TIMEOUT, |_| true, || claim_path(device));
            claimed.map_err(|error| reason(device, &error))
        };
        Ok(OtherPaths(
            found.iter().map(claim).collect::<Result<_, _>>()?,
        ))
    }

    /// Makes the kernel read their partition tables again. Fails with [`Errno::BUSY`] if somebody has a partition open.
    pub fn reread_partitions(&self) -> Result<(), Errno> {
        let mut reread = self.0.iter().map(claim::reread_partitions_in_time);
        match reread.any(|result| result == Err(Errno::BUSY)) {
            true => Err(Errno::BUSY),
            false => Ok(()),
        }
    }

    /// Makes the kernel forget the partitions that it has read by them.
    pub fn forget_partitions(&self) {
        self.0.iter().for_each(claim::forget_partitions);
    }
}

/// Why one of the other paths to the medium of `target` cannot be claimed at this moment; `None` if all can.
pub fn claimed_by_other_path(target: &Target) -> Option<String> {
    let found = match guards::other_paths(target) {
        Ok(found) => found,
        Err(why) => return Some(why),
    };
    let mut claims = found.iter().map(|device| (device, claim_path(device)));
    claims.find_map(|(device, claim)| Some(reason(device, &claim.err()?)))
}

/// Why `device` cannot be claimed at this moment; `None` if it can.
pub fn claimed(device: &Device) -> Option<String> {
    claim_path(device).err().map(|error| why(&error))
}

fn claim_path(device: &Device) -> Result<File, Errno> {
    let file = open(&device.path(), Access::Read, true, OFlags::empty())?;
    let is_it = |about: std::fs::Metadata| Number::new(about.rdev()) == device.number;
    match file.metadata().is_ok_and(is_it) {
        true => claim::try_claim(&file, true).map(|()| file),
        // The node belongs to another device.
        false => Err(Errno::NODEV),
    }
}

fn reason(device: &Device, error: &Errno) -> String {
    format!("its other path {}: {}", device.name(), why(error))
}
