//! Commands for a SCSI drive (SPC-5), or for one that a translation shows as a SCSI drive.

#![allow(unsafe_code)]

use std::ffi::{c_int, c_uchar, c_uint, c_ushort, c_void};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::time::Duration;

use rustix::ioctl::Opcode;
use squall_tool_base::failure::cause;

use super::sense::{Sense, key};

pub trait Scsi {
    /// Sends a command descriptor block, with data in one direction or none. The kernel gives the command up after
    /// `timeout`. Fails if it did not reach the drive.
    fn command(&self, block: &[u8], data: Data<'_>, timeout: Duration) -> Result<Reply, String>;
}

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

    pub fn text(&self) -> String {
        match (&self.sense, self.status) {
            (None, Reply::GOOD) => "GOOD".into(),
            (Some(sense), Reply::CHECK_CONDITION) => sense.text(),
            (_, status) => format!("SCSI status 0x{status:02x}"),
        }
    }
}

/// The most sense data that a drive sends (SPC-5, section 4.4.1).
const SENSE: usize = 252;

impl Scsi for File {
    fn command(&self, block: &[u8], data: Data<'_>, timeout: Duration) -> Result<Reply, String> {
        let mut sense = [0; SENSE];
        let (direction, start, len) = match data {
            Data::None => (-1, std::ptr::null_mut(), 0),
            Data::Out(bytes) => (-2, bytes.as_ptr().cast_mut().cast(), bytes.len()),
            Data::In(bytes) => (-3, bytes.as_mut_ptr().cast(), bytes.len()),
        };
        let mut request = Request {
            interface: c_int::from(b'S'),
            direction,
            block_len: block.len() as c_uchar,
            most_sense: SENSE as c_uchar,
            pieces: 0,
            len: len as c_uint,
            data: start,
            block: block.as_ptr(),
            sense: sense.as_mut_ptr(),
            timeout: timeout.as_millis() as c_uint,
            flags: 0,
            pack_id: 0,
            user: std::ptr::null_mut(),
            status: 0,
            masked_status: 0,
            message_status: 0,
            sense_len: 0,
            host_status: 0,
            driver_status: 0,
            missing: 0,
            duration: 0,
            info: 0,
        };
        const SG_IO: Opcode = 0x2285;
        // SAFETY: all pointers are to slices of the lengths beside them, which outlive this call; the
        // kernel writes to the request from `status` on, to the sense data, and to the data only if the
        // direction is from the drive.
        match unsafe { libc::ioctl(self.as_raw_fd(), SG_IO as _, &raw mut request) } {
            -1 => return Err(cause(&io::Error::last_os_error())),
            _ if request.host_status != 0 => {
                let status = request.host_status;
                return Err(format!("the adapter did not deliver it (0x{status:02x})"));
            }
            _ => {}
        }
        let len = usize::from(request.sense_len).min(SENSE);
        Ok(Reply {
            status: request.status,
            sense: Sense::read(&sense[..len]),
            missing: request.missing,
        })
    }
}

/// `struct sg_io_hdr` of scsi/sg.h.
#[repr(C)]
struct Request {
    interface: c_int,
    direction: c_int,
    block_len: c_uchar,
    most_sense: c_uchar,
    pieces: c_ushort,
    len: c_uint,
    data: *mut c_void,
    block: *const c_uchar,
    sense: *mut c_uchar,
    timeout: c_uint,
    flags: c_uint,
    pack_id: c_int,
    user: *mut c_void,
    status: c_uchar,
    masked_status: c_uchar,
    message_status: c_uchar,
    sense_len: c_uchar,
    host_status: c_ushort,
    driver_status: c_ushort,
    missing: c_int,
    duration: c_uint,
    info: c_uint,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Request>() == 88);

/// A drive that answers every command by `answer`.
#[cfg(test)]
pub(crate) fn model(answer: impl Fn(&[u8], Data<'_>) -> Reply) -> impl Scsi {
    struct Model<F>(F);
    impl<F: Fn(&[u8], Data<'_>) -> Reply> Scsi for Model<F> {
        fn command(&self, block: &[u8], data: Data<'_>, _: Duration) -> Result<Reply, String> {
            Ok(self.0(block, data))
        }
    }
    Model(answer)
}
