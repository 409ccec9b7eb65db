//! Writes a stream to standard output, a file, a device or a FIFO.
//!
//! A sink counts the bytes that were really written, so that errors can report them. Data for a disk
//! is on the disk once [`Sink::sync`] has succeeded.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;

use rustix::fs::FileType;
use rustix::io::Errno;
use squall_tool_base::Failure;
use squall_tool_base::failure::cause;

use super::buffer::{Buffer, Memory};
use super::gift;
use super::send::send_all;

/// The size to request for a pipe: the most that users may set (/proc/sys/fs/pipe-max-size).
const PIPE_SIZE: usize = 1 << 20;

pub struct Sink {
    file: File,
    name: String,
    is_pipe: bool,
    written: u64,
}

impl Sink {
    pub fn new(file: File, name: String) -> Sink {
        let is_pipe = rustix::fs::fstat(&file)
            .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Fifo);
        if is_pipe {
            // Fails for users with much pipe memory; then the size stays as it is.
            let _ = rustix::pipe::fcntl_setpipe_size(&file, PIPE_SIZE);
        }
        Sink {
            file,
            name,
            is_pipe,
            written: 0,
        }
    }

    pub fn is_pipe(&self) -> bool {
        self.is_pipe
    }

    /// Whether the output takes given memory and that is faster.
    pub fn takes_gifts(&self) -> bool {
        self.is_pipe && gift::is_possible(self.file.as_fd())
    }

    /// Writes all of `buffer`. Returns a kept buffer for reuse; a given one is gone.
    pub fn write(&mut self, Buffer { memory, len }: Buffer) -> Result<Option<Buffer>, Failure> {
        let fd = self.file.as_fd();
        let (result, kept) = match memory {
            Memory::Kept(bytes) => {
                let write = |rest: &[u8]| rustix::io::write(fd, rest);
                let result = send_all(fd, &bytes[..len], &mut self.written, write);
                (result, Some(Memory::Kept(bytes)))
            }
            Memory::Given(gift) => (gift.give(len, fd, &mut self.written), None),
        };
        let kept = kept.map(|memory| Buffer { memory, len });
        result.map(|()| kept).map_err(|error| self.failure(&error))
    }

    /// Waits until all data is on the disk, if the output is on one.
    pub fn sync(&self) -> Result<(), Failure> {
        match rustix::io::retry_on_intr(|| rustix::fs::fdatasync(&self.file)) {
            // Pipes, terminals and most character devices have nothing to sync.
            Ok(()) | Err(Errno::INVAL | Errno::NOTSUP) => Ok(()),
            Err(error) => Err(Failure::Runtime(format!(
                "{}: {}, while {} bytes were synchronised to the disk",
                self.name,
                cause(&error.into()),
                self.written
            ))),
        }
    }

    fn failure(&self, error: &io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::Closed,
            _ => Failure::Runtime(format!(
                "{}: {}, after {} bytes were written",
                self.name,
                cause(error),
                self.written
            )),
        }
    }
}
