//! What a drive says of its own health: SMART of ATA, and the health log of NVMe. Reading it changes nothing.
//!
//! Other drives are not asked: bridges from USB may hang on commands that they do not know.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Kind;
use crate::commands::ata::Command;
use crate::commands::nvme::{Admin, LOG_PAGE, log_page};
use crate::commands::scsi::{Data, Scsi, send};
use crate::io::Device;

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
    /// The health of the drive that is open as `device`. `None` if it is no whole drive, or says nothing.
    pub fn read(device: &Device) -> Option<Health> {
        let (target, file) = (device.target(), device.file());
        if target.identity.kind != Kind::Disk {
            return None;
        }
        match target.bus()?.as_str() {
            "nvme" => nvme_health(file),
            "sata" => ata_health(file),
            _ => None,
        }
    }
}

/// Length of the data of SMART, in bytes.
const LENGTH: usize = 512;

/// How long the drive may take to answer.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Bits 8 to 23 of the register LBA, with which SMART is asked, and with which a drive that expects to fail
/// answers.
const KEY: u64 = 0xc24f;
const FAILING: u64 = 0x2cf4;

/// The health of an ATA drive, by SMART (ACS-4, section 7.46), through a SCSI / ATA translation.
fn ata_health(drive: &dyn Scsi) -> Option<Health> {
    let figures = data(drive).as_ref().and_then(attributes);
    let healthy = status(drive);
    (figures.is_some() || healthy.is_some()).then(|| Health {
        healthy,
        ..figures.unwrap_or_default()
    })
}

/// The answer to SMART READ DATA.
fn data(drive: &dyn Scsi) -> Option<[u8; LENGTH]> {
    const READ_DATA: u16 = 0xd0;
    let mut data = [0; LENGTH];
    let block = smart(READ_DATA, 1).data_in();
    let reply = send(drive, &block, Data::In(&mut data), TIMEOUT).ok()?;
    reply.is_good().then_some(data)
}

/// The answer to SMART RETURN STATUS: whether the drive finds itself healthy.
fn status(drive: &dyn Scsi) -> Option<bool> {
    const RETURN_STATUS: u16 = 0xda;
    let block = smart(RETURN_STATUS, 0).non_data();
    let reply = send(drive, &block, Data::None, TIMEOUT).ok()?;
    let registers = reply.sense?.registers?;
    match registers.lba >> 8 & 0xffff {
        _ if registers.is_error() => None,
        KEY => Some(true),
        FAILING => Some(false),
        _ => None,
    }
}

fn smart(feature: u16, count: u16) -> Command {
    const SMART: u8 = 0xb0;
    Command {
        code: SMART,
        feature,
        count,
        lba: KEY << 8,
        ..Command::default()
    }
}

/// The attributes in the data of SMART. `None` if its checksum is wrong.
fn attributes(data: &[u8; LENGTH]) -> Option<Health> {
    let sum = data.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
    if sum != 0 {
        return None;
    }
    let all = data[2..362].chunks_exact(12);
    let raw = |id: u8| {
        let attribute = all.clone().find(|attribute| attribute[0] == id)?;
        Some(&attribute[5..11])
    };
    // Some makers keep other figures in the upper two bytes.
    let number = |id: u8| {
        let raw = raw(id)?;
        Some(u32::from_le_bytes([raw[0], raw[1], raw[2], raw[3]]).into())
    };
    let celsius = |id: u8| Some(i64::from(raw(id)?[0].cast_signed()));
    Some(Health {
        celsius: celsius(194).or_else(|| celsius(190)),
        power_on_hours: number(9),
        power_cycles: number(12),
        reallocated_sectors: number(5),
        pending_sectors: number(197),
        uncorrectable_sectors: number(198),
        ..Health::default()
    })
}

/// The health of an NVMe controller, by the log page SMART / Health Information (NVM Express Base Specification, Get
/// Log Page 02h).
fn nvme_health(drive: &dyn Admin) -> Option<Health> {
    const HEALTH: u8 = 0x02;
    log_page(drive, HEALTH).ok().map(|page| log_figures(&page))
}

fn log_figures(page: &[u8; LOG_PAGE]) -> Health {
    const KELVIN: i64 = 273;
    let number = |at: usize| {
        page[at..at + 8]
            .iter()
            .rev()
            .fold(0, |n, byte| n << 8 | u64::from(*byte))
    };
    let kelvin = i64::from(u16::from_le_bytes([page[1], page[2]]));
    Health {
        healthy: Some(page[0] == 0),
        celsius: (kelvin > 0).then_some(kelvin - KELVIN),
        power_on_hours: Some(number(128)),
        power_cycles: Some(number(112)),
        critical_warning: Some(page[0]),
        percentage_used: Some(page[5]),
        available_spare: Some(page[3]),
        media_errors: Some(number(160)),
        bytes_written: Some(number(48).saturating_mul(512_000)),
        ..Health::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::ata::Registers;
    use crate::commands::scsi::{Reply, model};
    use crate::commands::sense::tests::reply_with;

    /// SMART data with these attributes, each with its raw value.
    fn smart_data(attributes: &[(u8, [u8; 6])]) -> [u8; LENGTH] {
        let mut data = [0; LENGTH];
        for (index, (id, raw)) in attributes.iter().enumerate() {
            let at = 2 + 12 * index;
            data[at] = *id;
            data[at + 5..at + 11].copy_from_slice(raw);
        }
        let sum = data.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
        data[LENGTH - 1] = sum.wrapping_neg();
        data
    }

    #[test]
    fn attributes_are_read_by_their_numbers() {
        let data = smart_data(&[
            (5, [8, 1, 0, 0, 0, 0]),
            (9, [0x10, 0x27, 0, 0, 0x33, 0x44]),
            (194, [36, 0, 18, 0, 51, 0]),
            (197, [2, 0, 0, 0, 0, 0]),
        ]);
        let health = attributes(&data).expect("attributes");
        assert_eq!(health.reallocated_sectors, Some(264));
        assert_eq!(health.power_on_hours, Some(10_000));
        assert_eq!(health.celsius, Some(36));
        assert_eq!(health.pending_sectors, Some(2));
        assert_eq!(health.uncorrectable_sectors, None);
        let airflow = smart_data(&[(190, [29, 0, 0, 0, 0, 0])]);
        assert_eq!(
            attributes(&airflow).and_then(|health| health.celsius),
            Some(29)
        );
        let mut damaged = data;
        damaged[7] ^= 1;
        assert_eq!(attributes(&damaged), None);
    }

    /// By the registers that it answers SMART RETURN STATUS with.
    #[test]
    fn a_drive_tells_whether_it_is_healthy() {
        for (status, [middle, high], healthy) in [
            (0x50, [0x4f, 0xc2], Some(true)),
            (0x50, [0xf4, 0x2c], Some(false)),
            (0x50, [0, 0], None),
            // A command that was aborted or failed leaves the registers as they were sent.
            (0x51, [0x4f, 0xc2], None),
            (0x70, [0x4f, 0xc2], None),
        ] {
            for is_fixed in [false, true] {
                let drive = model(|block, data| {
                    assert_eq!(block[7..], [0, 0, 0, 0x4f, 0, 0xc2, 0, 0xb0, 0]);
                    if let Data::In(data) = data {
                        assert_eq!(block[..7], [0x85, 8, 0x0e, 0, 0xd0, 0, 1]);
                        data.copy_from_slice(&smart_data(&[(194, [36, 0, 0, 0, 0, 0])]));
                        return Reply::default();
                    }
                    assert_eq!(block[..7], [0x85, 6, 0x20, 0, 0xda, 0, 0]);
                    let registers = Registers {
                        status,
                        lba: high << 16 | middle << 8,
                        ..Registers::default()
                    };
                    reply_with(registers, is_fixed)
                });
                let health = ata_health(&drive).expect("its attributes");
                assert_eq!((health.healthy, health.celsius), (healthy, Some(36)));
            }
        }
    }

    #[test]
    fn fields_are_where_the_specification_has_them() {
        let mut page = [0; LOG_PAGE];
        (page[0], page[3], page[5]) = (0b101, 97, 12);
        page[1..3].copy_from_slice(&310_u16.to_le_bytes());
        for (at, value) in [(48, 2_000_000_u64), (112, 7), (128, 21_900), (160, 3)] {
            page[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
        let expected = Health {
            healthy: Some(false),
            celsius: Some(37),
            power_on_hours: Some(21_900),
            power_cycles: Some(7),
            critical_warning: Some(5),
            percentage_used: Some(12),
            available_spare: Some(97),
            media_errors: Some(3),
            bytes_written: Some(1_024_000_000_000),
            ..Health::default()
        };
        assert_eq!(log_figures(&page), expected);
        assert_eq!(log_figures(&[0; LOG_PAGE]).celsius, None);
    }
}
