//! SMART (ACS-4, section 7.46), through a SCSI / ATA translation.

use std::time::Duration;

use super::Health;
use crate::commands::ata::Command;
use crate::commands::scsi::{Data, Scsi, send};

/// Length of the data of SMART, in bytes.
const LENGTH: usize = 512;

/// How long the drive may take to answer.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Bits 8 to 23 of the register LBA, with which SMART is asked, and with which a drive that expects to fail
/// answers.
const KEY: u64 = 0xc24f;
const FAILING: u64 = 0x2cf4;

/// The health of `drive`.
pub fn health(drive: &dyn Scsi) -> Option<Health> {
    let attributes = data(drive).as_ref().and_then(parsed);
    let healthy = status(drive);
    match (attributes, healthy) {
        (None, None) => None,
        (attributes, healthy) => Some(Health {
            healthy,
            ..attributes.unwrap_or_default()
        }),
    }
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
fn parsed(data: &[u8; LENGTH]) -> Option<Health> {
    let sum = data.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
    if sum != 0 {
        return None;
    }
    let attributes = data[2..362].chunks_exact(12);
    let raw = |id: u8| {
        let attribute = attributes.clone().find(|attribute| attribute[0] == id)?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::scsi::Reply;
    use crate::commands::sense::Sense;

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
        let health = parsed(&data).expect("attributes");
        assert_eq!(health.reallocated_sectors, Some(264));
        assert_eq!(health.power_on_hours, Some(10_000));
        assert_eq!(health.celsius, Some(36));
        assert_eq!(health.pending_sectors, Some(2));
        assert_eq!(health.uncorrectable_sectors, None);
        let airflow = smart_data(&[(190, [29, 0, 0, 0, 0, 0])]);
        assert_eq!(parsed(&airflow).and_then(|health| health.celsius), Some(29));
        let mut damaged = data;
        damaged[7] ^= 1;
        assert_eq!(parsed(&damaged), None);
    }

    /// A drive that answers SMART RETURN STATUS with these registers.
    struct Model {
        status: u8,
        lba: [u8; 2],
        is_fixed: bool,
    }

    impl Scsi for Model {
        fn command(
            &self,
            block: &[u8],
            data: Data<'_>,
            timeout: Duration,
        ) -> Result<Reply, String> {
            assert_eq!(timeout.as_secs(), 20);
            if let Data::In(data) = data {
                let expected = [
                    0x85, 8, 0x0e, 0, 0xd0, 0, 1, 0, 0, 0, 0x4f, 0, 0xc2, 0, 0xb0, 0,
                ];
                assert_eq!(block, expected);
                data.copy_from_slice(&smart_data(&[(194, [36, 0, 0, 0, 0, 0])]));
                return Ok(Reply::default());
            }
            let expected = [
                0x85, 6, 0x20, 0, 0xda, 0, 0, 0, 0, 0, 0x4f, 0, 0xc2, 0, 0xb0, 0,
            ];
            assert_eq!(block, expected);
            let (status, [middle, high]) = (self.status, self.lba);
            let sense = match self.is_fixed {
                true => vec![
                    0x70, 0, 1, 0, status, 0, 0, 10, 0, 0, middle, high, 0, 0x1d, 0, 0, 0, 0,
                ],
                false => vec![
                    0x72, 1, 0, 0x1d, 0, 0, 0, 14, 0x09, 0x0c, 0, 0, 0, 0, 0, 0, 0, middle, 0,
                    high, 0, status,
                ],
            };
            Ok(Reply {
                status: Reply::CHECK_CONDITION,
                sense: Sense::read(&sense),
                ..Reply::default()
            })
        }
    }

    #[test]
    fn a_drive_tells_whether_it_is_healthy() {
        for (status, lba, healthy) in [
            (0x50, [0x4f, 0xc2], Some(true)),
            (0x50, [0xf4, 0x2c], Some(false)),
            (0x50, [0, 0], None),
            // An aborted command leaves the registers as they were sent.
            (0x51, [0x4f, 0xc2], None),
        ] {
            for is_fixed in [false, true] {
                let drive = Model {
                    status,
                    lba,
                    is_fixed,
                };
                let told = health(&drive).expect("its attributes");
                assert_eq!((told.healthy, told.celsius), (healthy, Some(36)));
            }
        }
    }
}
