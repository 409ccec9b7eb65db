//! The log page SMART / Health Information (NVM Express Base Specification, Get Log Page 02h).

use super::Health;
use crate::commands::nvme::{Admin, LOG_PAGE, log_page};

/// The health of the controller `drive`.
pub fn health(drive: &dyn Admin) -> Option<Health> {
    const HEALTH: u8 = 0x02;
    log_page(drive, HEALTH).ok().map(|page| parsed(&page))
}

fn parsed(page: &[u8; LOG_PAGE]) -> Health {
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
        assert_eq!(parsed(&page), expected);
        assert_eq!(parsed(&[0; LOG_PAGE]).celsius, None);
    }
}
