//! The memory a chunk is made in.
//!
//! A kept buffer is written, used again, and wiped in the end. A given one is new memory that a
//! pipe takes over: it is never written after that, because the reader may hold on to it.

use std::io;

use rustix::io::Errno;
use squall_tools::Failure;
use squall_tools::failure::cause;
use zeroize::Zeroizing;

use super::gift::Gift;

/// Memory for one chunk of output.
pub enum Buffer {
    /// Ours for good.
    Kept {
        bytes: Zeroizing<Vec<u8>>,
        len: usize,
    },
    /// To be given away.
    Given { gift: Gift, len: usize },
}

impl Buffer {
    /// The first `len` bytes, to be made; from now on the buffer is that long.
    pub fn prepare(&mut self, len: usize) -> &mut [u8] {
        match self {
            Buffer::Kept { bytes, len: used } => {
                *used = len;
                &mut bytes[..len]
            }
            Buffer::Given { gift, len: used } => {
                *used = len;
                &mut gift.bytes_mut()[..len]
            }
        }
    }
}

/// What it means that there is no memory for a chunk.
pub fn no_memory(error: &io::Error) -> Failure {
    let cause = cause(error);
    Failure::Runtime(format!(
        "memory: {cause}: raise the limit or use fewer --threads"
    ))
}

/// How buffers are made.
#[derive(Clone, Copy)]
pub struct Supply {
    pub len: usize,
    pub gives: bool,
}

impl Supply {
    pub fn get(self) -> io::Result<Buffer> {
        Ok(if self.gives {
            Buffer::Given {
                gift: Gift::new(self.len)?,
                len: 0,
            }
        } else {
            Buffer::Kept {
                bytes: zeros(self.len)?,
                len: 0,
            }
        })
    }
}

/// `len` zeros that are wiped in the end; an error, not an abort, if there is no memory for them.
pub fn zeros(len: usize) -> io::Result<Zeroizing<Vec<u8>>> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(len).map_err(|_| Errno::NOMEM)?;
    bytes.resize(len, 0);
    Ok(Zeroizing::new(bytes))
}
