//! Sectors that an ATA drive has and does not show: behind a host protected area (HPA), or behind a device configuration
//! overlay (DCO). No host reaches them before the area is removed, so overwriting does not reach them either.
//!
//! Commands and fields are those of ACS-2 (INCITS 482-2012: READ NATIVE MAX ADDRESS, DEVICE CONFIGURATION IDENTIFY) and of
//! ACS-3 (INCITS 522-2014: GET NATIVE MAX ADDRESS EXT, which replaces both areas). They change nothing.

mod command;
mod identify;

use std::time::Duration;

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use squall_tools::units::volume;

use crate::Target;
use crate::commands::ata::Command;
use crate::commands::scsi::{Data, Scsi, send};
use command::DEVICE_CONFIGURATION_IDENTIFY;
use identify::Identified;

/// How long a drive may take for a command. One that sleeps must wake up first.
const TIMEOUT: Duration = Duration::from_secs(20);

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

    /// How much is hidden, and behind what; `None` if that is nothing.
    pub fn text(self) -> Option<String> {
        let bytes = self.bytes();
        (bytes > 0).then(|| format!("{} ({})", volume(bytes), self.areas()))
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
    ask(&target.open_to_ask(OFlags::empty())?)
}

fn ask(drive: &dyn Scsi) -> Option<Hidden> {
    let identified = Identified::of(&read(drive, Command::IDENTIFY_DEVICE)?)?;
    let shown = identified.sectors();
    let native = address(drive, identified.native_max_command())?.checked_add(1)?;
    let bytes = |sectors: u64| sectors.saturating_mul(identified.sector());
    let all = identified
        .has_configuration_overlay()
        .then(|| {
            let data = read(drive, DEVICE_CONFIGURATION_IDENTIFY)?;
            identify::sectors_without_overlay(&data)
        })
        .flatten();
    Some(Hidden {
        hpa: bytes(native.saturating_sub(shown)),
        dco: all.map(|all| bytes(all.saturating_sub(native.max(shown)))),
    })
}

/// The data that `command` returns; `None` if the drive refuses it or does not know it.
fn read(drive: &dyn Scsi, command: Command) -> Option<[u8; 512]> {
    let mut data = [0; 512];
    let reply = send(drive, &command.data_in(), Data::In(&mut data), TIMEOUT).ok()?;
    (reply.is_good() && reply.missing == 0).then_some(data)
}

/// The address that `command` returns in the drive's registers; `None` if the drive refuses it or does not know it.
fn address(drive: &dyn Scsi, command: Command) -> Option<u64> {
    let reply = send(drive, &command.non_data(), Data::None, TIMEOUT).ok()?;
    let registers = reply.sense?.registers?;
    let is_told = registers.is_whole && !registers.is_error();
    is_told.then(|| match command.is_extended {
        true => registers.lba,
        false => registers.short_address(),
    })
}

#[cfg(test)]
mod tests;
