//! Commands for a SCSI drive (SPC-5), or for one that a translation shows as a SCSI drive.

mod sg_io;

use std::time::Duration;

use super::sense::{Sense, key};

/// A drive that takes SCSI commands.
pub trait Scsi {
    /// Sends a command descriptor block, with data in one direction or none. The kernel gives the command up after
    /// `timeout`. Fails if it did not reach the drive.
    fn command(&self, block: &[u8], data: Data<'_>, timeout: Duration) -> Result<Reply, String>;
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
pub fn send(
    drive: &dyn Scsi,
    block: &[u8],
    mut data: Data<'_>,
    timeout: Duration,
) -> Result<Reply, String> {
    const TRIES: usize = 4;
    let mut reply = drive.command(block, data.again(), timeout)?;
    for _ in 1..TRIES {
        let sense = reply.sense.as_ref();
        if sense.is_none_or(|sense| sense.key != key::UNIT_ATTENTION) {
            break;
        }
        reply = drive.command(block, data.again(), timeout)?;
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
    /// How many bytes of the data were not transferred. Some bridges from USB tell this wrongly.
    pub missing: i32,
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
