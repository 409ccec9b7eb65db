//! Memory for transfers past the page cache.

use std::ops::{Deref, DerefMut};

use bytemuck::{Pod, Zeroable};

/// What memory is aligned to for every device: a page is more than any asks for.
const ALIGNMENT: usize = 4096;

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(4096))]
struct Page([u8; ALIGNMENT]);

/// Bytes that begin at a page. They are not wiped: what they hold is no secret once it is on a drive.
pub struct Buffer(Vec<Page>);

impl Buffer {
    /// Zeros, at least `len` of them.
    pub fn new(len: usize) -> Buffer {
        Buffer(bytemuck::zeroed_vec(len.div_ceil(ALIGNMENT)))
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
