//! Repeats a failed transfer in halves, down to the sectors that the drive refuses. Each of those
//! is tried again before it is given up.

use std::io;
use std::thread::sleep;
use std::time::Duration;

use rustix::io::Errno;
use squall_tool_base::failure::cause;

use crate::pipeline::buffer;
use crate::record::Extent;
use crate::task::{OpenTarget, Stop, Task};

/// How often a sector is tried before it is given up.
const SECTOR_TRIES: u32 = 3;

/// How often a transfer is tried again while memory is short, and the pause between tries.
const BUSY_ATTEMPTS: u32 = 100;
const PAUSE: Duration = Duration::from_millis(100);

/// The meaning of an error for a drive.
enum ErrorKind {
    /// Some bytes cannot be transferred, but others may.
    Refused,
    /// This machine is short of memory, which says nothing about the drive.
    Busy,
    Vanished,
    /// The drive is there, but transfers would fail everywhere.
    Fatal,
}

/// Transfers as much of `extent` as possible, and tells `task` which sectors were refused.
pub fn in_pieces<T: Task>(
    open: &mut OpenTarget<'_>,
    extent: Extent,
    task: &mut T,
) -> Result<(), Stop> {
    let sector = u64::from(open.device.target().identity.sector);
    let mut buffer = buffer()?;
    task.begin(&mut buffer);
    let mut left = vec![extent];
    while let Some(part) = left.pop() {
        if open.interrupt.is_noted() {
            return Err(Stop::Interrupted);
        }
        let bytes = &mut buffer[..part.length as usize];
        task.prepare(part.offset, bytes);
        let halves = halves(part, sector);
        let tries = match halves {
            Some(_) => 1,
            None => SECTOR_TRIES,
        };
        if attempt::<T>(open, tries, bytes, part.offset)? {
            task.done(part.offset, bytes);
            open.accepted(part.length);
        } else if let Some([first, second]) = halves {
            left.extend([second, first]);
        } else {
            task.refused(part);
            open.refused(part.length)?;
        }
    }
    Ok(())
}

/// Whether one of `tries` transfers succeeds.
fn attempt<T: Task>(
    open: &OpenTarget<'_>,
    tries: u32,
    bytes: &mut [u8],
    offset: u64,
) -> Result<bool, Stop> {
    let (mut refused, mut busy) = (0, 0);
    while refused < tries {
        let Err(error) = open.device.transfer(T::DIRECTION, bytes, offset) else {
            return Ok(true);
        };
        match classify(&error, open.device.target().is_attached()) {
            ErrorKind::Refused => refused += 1,
            ErrorKind::Busy if busy < BUSY_ATTEMPTS => {
                busy += 1;
                sleep(PAUSE);
            }
            ErrorKind::Vanished => return Err(Stop::Vanished),
            ErrorKind::Busy | ErrorKind::Fatal => {
                let cause = cause(&error);
                return Err(Stop::Failed(format!("byte {offset}: {cause}")));
            }
        }
    }
    Ok(false)
}

/// The halves of `part`, split at a sector boundary; `None` if it is one sector or less.
fn halves(part: Extent, sector: u64) -> Option<[Extent; 2]> {
    let end = part.end();
    let middle = (part.end() / 2) / sector * sector;
    let middle = match middle > part.offset {
        true => middle,
        false => (part.offset / sector + 1) * sector,
    };
    let piece = |from, to| Extent::new(from, to - from);
    (middle < end).then(|| [piece(part.offset, middle), piece(middle, end)])
}

fn classify(error: &io::Error, is_there: bool) -> ErrorKind {
    let number = error.raw_os_error().map(Errno::from_raw_os_error);
    match number {
        Some(Errno::NODEV | Errno::NXIO | Errno::NOMEDIUM) => ErrorKind::Vanished,
        _ if !is_there => ErrorKind::Vanished,
        // The kernel's block layer turns a drive's errors into these (blk_errors in blk-core.c).
        Some(
            Errno::IO
            | Errno::NODATA
            | Errno::REMOTEIO
            | Errno::ILSEQ
            | Errno::TIMEDOUT
            | Errno::NOLINK
            | Errno::BADE,
        ) => ErrorKind::Refused,
        Some(Errno::NOMEM | Errno::AGAIN) => ErrorKind::Busy,
        _ => ErrorKind::Fatal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_end_at_sectors() {
        let part = |offset, length| Extent { offset, length };
        assert_eq!(halves(part(0, 512), 512), None);
        assert_eq!(halves(part(4096, 100), 4096), None);
        let two = halves(part(512, 1024), 512);
        assert_eq!(two, Some([part(512, 512), part(1024, 512)]));
        let three = halves(part(0, 1536), 512);
        assert_eq!(three, Some([part(0, 512), part(512, 1024)]));
        let with_a_tail = halves(part(4096, 4097), 4096);
        assert_eq!(with_a_tail, Some([part(4096, 4096), part(8192, 1)]));
    }
}
