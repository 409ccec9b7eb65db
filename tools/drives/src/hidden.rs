//! Sectors that an ATA drive has and does not show: behind a host protected area (HPA), or behind a device configuration
//! overlay (DCO). No host reaches them before the area is removed, so overwriting does not reach them either.
//!
//! Commands and fields are those of ACS-2 (INCITS 482-2012: READ NATIVE MAX ADDRESS, DEVICE CONFIGURATION IDENTIFY) and of
//! ACS-3 (INCITS 522-2014: GET NATIVE MAX ADDRESS EXT, which replaces both areas). They change nothing.

mod command;
mod identify;
mod sg;

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use crate::Target;
use command::{Command, Drive};
use identify::Identified;

/// How much a drive hides, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Hidden {
    /// Bytes behind a host protected area, or beyond an accessible maximum address.
    pub hpa: u64,
    /// Bytes behind a device configuration overlay; `None` if the drive does not tell.
    pub dco: Option<u64>,
}

impl Hidden {
    /// How much is hidden in all, in bytes.
    pub fn bytes(self) -> u64 {
        self.hpa.saturating_add(self.dco.unwrap_or(0))
    }

    /// What it is hidden behind, in words; empty if nothing is hidden.
    pub fn areas(self) -> &'static str {
        match (self.hpa > 0, self.dco.is_some_and(|bytes| bytes > 0)) {
            (true, true) => "HPA and DCO",
            (true, false) => "HPA",
            (false, true) => "DCO",
            (false, false) => "",
        }
    }
}

/// How much `target` hides; `None` if it is no ATA drive, or cannot be asked.
pub(crate) fn hidden(target: &Target) -> Option<Hidden> {
    let file = target.open_to_ask(OFlags::empty())?;
    ask(&sg::Generic(&file))
}

fn ask(drive: &impl Drive) -> Option<Hidden> {
    let mut data = [0; 512];
    drive.read(Command::IDENTIFY_DEVICE, &mut data)?;
    let identified = Identified::of(&data)?;
    let shown = identified.sectors();
    let native = drive
        .address(identified.native_max_command())?
        .checked_add(1)?;
    let bytes = |sectors: u64| sectors.saturating_mul(identified.sector());
    let all = identified
        .has_configuration_overlay()
        .then(|| {
            let mut data = [0; 512];
            drive.read(Command::DEVICE_CONFIGURATION_IDENTIFY, &mut data)?;
            identify::sectors_without_overlay(&data)
        })
        .flatten();
    Some(Hidden {
        hpa: bytes(native.saturating_sub(shown)),
        dco: all.map(|all| bytes(all.saturating_sub(native.max(shown)))),
    })
}

#[cfg(test)]
mod tests;
