//! A transfer between memory and a target, past the page cache.

use std::io;
use std::ops::{Deref, DerefMut};

use bytemuck::{Pod, Zeroable};
use rustix::io::Errno;

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

/// Alignment of buffers in bytes. A page is more than any device requires.
const ALIGNMENT: usize = 4096;

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(4096))]
struct Page([u8; ALIGNMENT]);

/// Page-aligned bytes. They are not wiped: what is on a drive is no secret.
pub struct Buffer(Vec<Page>);

impl Buffer {
    /// Allocates at least `len` zero bytes.
    pub fn new(len: usize) -> Buffer {
        Buffer::try_new(len).expect("memory")
    }

    /// The same, unless there is no memory.
    pub fn try_new(len: usize) -> io::Result<Buffer> {
        let pages = bytemuck::allocation::try_zeroed_vec(len.div_ceil(ALIGNMENT));
        pages.map(Buffer).map_err(|()| Errno::NOMEM.into())
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        bytemuck::cast_slice(&self.0)
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        bytemuck::cast_slice_mut(&mut self.0)
    }
}
