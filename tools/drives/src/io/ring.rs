//! Transfers by io_uring, and all unsafe code that this takes.
//!
//! The kernel accesses a transfer's buffer while the transfer is in flight. The ring owns the
//! buffer for that time, and is not dropped before the kernel has returned every buffer.

#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;

use io_uring::squeue::Flags;
use io_uring::{IoUring, opcode, types::Fd};

use super::transfer::{Direction, Finished, Transfer};

/// A ring and the transfers in flight.
pub struct Ring {
    ring: IoUring,
    file: Arc<File>,
    flags: Flags,
    /// One place for each transfer that may be in flight. A completion carries the place's number.
    places: Vec<Option<Transfer>>,
}

impl Ring {
    /// Opens a ring of `depth` places. Fails if the kernel refuses it.
    pub fn open(file: Arc<File>, depth: usize, waits: bool) -> io::Result<Ring> {
        Ok(Ring {
            ring: IoUring::new(depth as u32)?,
            file,
            flags: if waits { Flags::ASYNC } else { Flags::empty() },
            places: (0..depth).map(|_| None).collect(),
        })
    }

    pub fn submit(&mut self, mut transfer: Transfer) -> io::Result<()> {
        let free = self.places.iter().position(Option::is_none);
        let place = free.ok_or(io::ErrorKind::QuotaExceeded)?;
        let fd = Fd(self.file.as_raw_fd());
        let bytes = &mut transfer.buffer[..transfer.len];
        let (start, len) = (bytes.as_mut_ptr(), bytes.len() as u32);
        let entry = match transfer.direction {
            Direction::Write => opcode::Write::new(fd, start, len)
                .offset(transfer.offset)
                .build(),
            Direction::Read => opcode::Read::new(fd, start, len)
                .offset(transfer.offset)
                .build(),
        };
        let entry = entry.flags(self.flags).user_data(place as u64);
        self.places[place] = Some(transfer);
        // SAFETY: `start` is valid for `len` bytes, which nobody else uses. The memory does not
        // move with the `Buffer`, which stays in `places` until the kernel has completed this
        // entry; `drop` waits for that. `file` lives as long as the ring.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        if pushed.is_err() {
            self.places[place] = None;
            return Err(io::ErrorKind::QuotaExceeded.into());
        }
        again_if_interrupted(|| self.ring.submit()).map(drop)
    }

    /// Waits for the next transfer to finish; `None` if none is in flight.
    pub fn wait(&mut self) -> io::Result<Option<Finished>> {
        while self.places.iter().any(Option::is_some) {
            if let Some(entry) = self.ring.completion().next() {
                let place = self.places.get_mut(entry.user_data() as usize);
                let transfer = place.and_then(Option::take);
                let transfer = transfer.ok_or(io::ErrorKind::InvalidData)?;
                let result = match entry.result() {
                    error if error < 0 => Err(io::Error::from_raw_os_error(-error)),
                    done => Ok(done as usize),
                };
                return Ok(Some(Finished { transfer, result }));
            }
            again_if_interrupted(|| self.ring.submit_and_wait(1))?;
        }
        Ok(None)
    }
}

impl Drop for Ring {
    /// Waits for all transfers in flight. Buffers that the kernel does not return are never freed.
    fn drop(&mut self) {
        loop {
            match self.wait() {
                Ok(Some(_)) => {}
                Ok(None) => return,
                Err(_) => return self.places.drain(..).for_each(std::mem::forget),
            }
        }
    }
}

fn again_if_interrupted<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}
