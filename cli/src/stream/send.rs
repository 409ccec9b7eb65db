//! Sends a whole buffer through calls that may take only parts of it.

use std::io;
use std::os::fd::BorrowedFd;

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;

/// Passes `bytes` to `send` until all are taken, and waits for room. `sent` counts the taken bytes,
/// even on failure.
pub fn send_all(
    fd: BorrowedFd<'_>,
    mut bytes: &[u8],
    sent: &mut u64,
    send: impl Fn(&[u8]) -> rustix::io::Result<usize>,
) -> io::Result<()> {
    while !bytes.is_empty() {
        match send(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(taken) => {
                *sent += taken as u64;
                bytes = &bytes[taken..];
            }
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => wait_for_room(fd)?,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Waits for room in an output that somebody has made non-blocking.
fn wait_for_room(fd: BorrowedFd<'_>) -> io::Result<()> {
    match rustix::event::poll(&mut [PollFd::from_borrowed_fd(fd, PollFlags::OUT)], None) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
