//! Commands for SCSI drives, and for ATA drives behind a SCSI / ATA translation.

pub mod ata;
pub mod sanitize;
pub mod sense;
pub mod sg_io;

use sense::Sense;

/// A drive that takes SCSI commands.
pub trait Scsi {
    /// Sends a command descriptor block, with data in one direction or none.
    fn command(&self, block: &[u8], data: Data<'_>) -> Result<Reply, String>;
}

/// A command's data.
#[derive(Debug)]
pub enum Data<'a> {
    None,
    /// The drive fills this.
    In(&'a mut [u8]),
    /// The drive gets this.
    Out(&'a [u8]),
}

impl Data<'_> {
    /// The same data, for one try.
    fn again(&mut self) -> Data<'_> {
        match self {
            Data::None => Data::None,
            Data::In(bytes) => Data::In(bytes),
            Data::Out(bytes) => Data::Out(bytes),
        }
    }
}

/// Sends a command. A drive that has something else to tell first (UNIT ATTENTION), such as that it was
/// reset, is asked again.
fn send(drive: &dyn Scsi, block: &[u8], mut data: Data<'_>) -> Result<Reply, String> {
    const TRIES: usize = 4;
    let mut reply = drive.command(block, data.again())?;
    for _ in 1..TRIES {
        let sense = reply.sense.as_ref();
        if sense.is_none_or(|sense| sense.key != sense::key::UNIT_ATTENTION) {
            break;
        }
        reply = drive.command(block, data.again())?;
    }
    Ok(reply)
}

/// How a drive replied to a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// The status, such as GOOD (0) and CHECK CONDITION (2).
    pub status: u8,
    /// The sense data, if the drive sent some.
    pub sense: Option<Sense>,
}

impl Reply {
    pub const GOOD: u8 = 0;
    pub const CHECK_CONDITION: u8 = 2;

    /// Whether the command was carried out.
    pub fn is_good(&self) -> bool {
        self.status == Reply::GOOD
    }

    /// The reply for people.
    pub fn text(&self) -> String {
        match (&self.sense, self.status) {
            (None, Reply::GOOD) => "GOOD".into(),
            (Some(sense), Reply::CHECK_CONDITION) => sense.text(),
            (_, status) => format!("SCSI status 0x{status:02x}"),
        }
    }
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
