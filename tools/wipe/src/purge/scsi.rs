//! Commands for SCSI drives, and for ATA drives behind a SCSI / ATA translation.

pub mod ata;
pub mod sanitize;

use std::time::Duration;

use squall_drives::commands::scsi::{self, Data, Reply, Scsi};

/// Time for a command. What takes longer goes on after its command has ended.
const TIMEOUT: Duration = Duration::from_secs(5 * 60);

fn send(drive: &dyn Scsi, block: &[u8], data: Data<'_>) -> Result<Reply, String> {
    scsi::send(drive, block, data, TIMEOUT)
}

/// A page of vital product data; `None` if the drive has no such page.
pub fn vital_product_data(drive: &dyn Scsi, page: u8) -> Option<Vec<u8>> {
    const INQUIRY: u8 = 0x12;
    const ENABLE_VITAL_PRODUCT_DATA: u8 = 1;
    const LEN: u16 = 572;
    let mut data = vec![0; LEN.into()];
    let [high, low] = LEN.to_be_bytes();
    let block = [INQUIRY, ENABLE_VITAL_PRODUCT_DATA, page, high, low, 0];
    let reply = send(drive, &block, Data::In(&mut data)).ok()?;
    (reply.is_good() && data[1] == page).then_some(data)
}

/// Bytes as pairs of hexadecimal digits.
fn digits(bytes: &[u8]) -> String {
    let digits: Vec<_> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    digits.join(" ")
}
