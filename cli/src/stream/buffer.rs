//! The memory in which a chunk of output is made.
//!
//! A kept buffer is written, reused, and wiped in the end. A given buffer is new memory that a pipe
//! takes over; squall never writes to it again, because the pipe's reader may still refer to it.

use std::io;

use rustix::io::Errno;
use squall_tool_base::Failure;
use squall_tool_base::failure::cause;
use zeroize::Zeroizing;

use super::gift::Gift;

/// Memory for one chunk of output, and how much of it is used.
pub struct Buffer {
    pub memory: Memory,
    pub len: usize,
}

pub enum Memory {
    /// Memory that stays ours.
    Kept(Zeroizing<Vec<u8>>),
    /// Memory that a pipe will take over.
    Given(Gift),
}

impl Buffer {
    /// The first `len` bytes, to be filled; `len` becomes the buffer's length.
    pub fn prepare(&mut self, len: usize) -> &mut [u8] {
        self.len = len;
        match &mut self.memory {
            Memory::Kept(bytes) => &mut bytes[..len],
            Memory::Given(gift) => &mut gift.bytes_mut()[..len],
        }
    }
}

pub fn no_memory(error: &io::Error) -> Failure {
    let cause = cause(error);
    Failure::Runtime(format!(
        "memory: {cause}: raise the limit or use fewer --threads"
    ))
}

/// The kind and size of new buffers.
#[derive(Clone, Copy)]
pub struct BufferSupply {
    pub len: usize,
    pub uses_gifts: bool,
}

impl BufferSupply {
    pub fn get(self) -> io::Result<Buffer> {
        let memory = if self.uses_gifts {
            Memory::Given(Gift::new(self.len)?)
        } else {
            Memory::Kept(zeros(self.len)?)
        };
        Ok(Buffer { memory, len: 0 })
    }
}

/// `len` zeros, wiped when dropped; fails instead of aborting if there is no memory.
pub fn zeros(len: usize) -> io::Result<Zeroizing<Vec<u8>>> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(len).map_err(|_| Errno::NOMEM)?;
    bytes.resize(len, 0);
    Ok(Zeroizing::new(bytes))
}
