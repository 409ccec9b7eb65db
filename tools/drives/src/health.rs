//! What a drive says of its own health: SMART of ATA, and the health log of NVMe. Reading it changes nothing.
//!
//! Other drives are not asked: bridges from USB may hang on commands that they do not know.

mod ata;
mod nvme;

use std::fs::File;

use serde::{Deserialize, Serialize};

use crate::{Kind, Target};

/// A drive's health at one moment. What the drive does not report is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Health {
    /// Whether the drive finds itself healthy: SMART's status, or no critical warning of NVMe.
    pub healthy: Option<bool>,
    /// Degrees Celsius.
    pub celsius: Option<i64>,
    /// Hours that it was powered on.
    pub power_on_hours: Option<u64>,
    /// How often it was powered on.
    pub power_cycles: Option<u64>,
    /// Sectors that it has replaced by spare ones (attribute 5).
    pub reallocated_sectors: Option<u64>,
    /// Sectors that it could not read, and may replace when they are written (attribute 197).
    pub pending_sectors: Option<u64>,
    /// Sectors that it could not correct (attribute 198).
    pub uncorrectable_sectors: Option<u64>,
    /// NVMe's critical warnings, one bit each.
    pub critical_warning: Option<u8>,
    /// How much of its life is used, in percent; may exceed 100.
    pub percentage_used: Option<u8>,
    /// Spare blocks that are left, in percent.
    pub available_spare: Option<u8>,
    /// Errors of data integrity that it could not recover.
    pub media_errors: Option<u64>,
    /// Bytes that hosts have written to it, in units of 512,000.
    pub bytes_written: Option<u64>,
}

impl Health {
    /// The health of the drive that is open as `file`. `None` if it is no whole drive, or says nothing.
    pub fn read(target: &Target, file: &File) -> Option<Health> {
        if target.identity.kind != Kind::Disk {
            return None;
        }
        match target.bus()?.as_str() {
            "nvme" => nvme::health(file),
            "sata" => ata::health(file),
            _ => None,
        }
    }
}
