//! A transfer between memory and a target.

use std::io;

use super::buffer::Buffer;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Write,
    Read,
}

/// A transfer of the first `len` bytes of `buffer`.
pub struct Transfer {
    pub buffer: Buffer,
    pub len: usize,
    /// Offset on the target, in bytes.
    pub offset: u64,
    pub direction: Direction,
}

/// A finished transfer, and how many of its bytes were transferred.
pub struct Finished {
    pub transfer: Transfer,
    pub result: io::Result<usize>,
}
