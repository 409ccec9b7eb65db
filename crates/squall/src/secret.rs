//! Bytes that are wiped when they are no longer needed.
//!
//! `zeroize` writes byte arrays one volatile byte at a time, which costs more than the AES of a
//! refill. Here they are filled with whole vectors, and its barrier keeps the stores from being
//! optimised away.

use core::ops::{Deref, DerefMut};

/// Wipes bytes, or words, for good.
#[inline]
pub(crate) fn wipe<W: Copy + Default>(words: &mut [W]) {
    words.fill(W::default());
    zeroize::optimization_barrier(words);
}

/// `N` bytes, wiped on drop.
pub(crate) struct Secret<const N: usize>([u8; N]);

impl<const N: usize> Secret<N> {
    /// All zeros, to be written.
    #[inline]
    pub fn zeroed() -> Self {
        Secret([0; N])
    }
}

impl<const N: usize> Drop for Secret<N> {
    #[inline]
    fn drop(&mut self) {
        wipe(&mut self.0);
    }
}

impl<const N: usize> Deref for Secret<N> {
    type Target = [u8; N];

    #[inline]
    fn deref(&self) -> &[u8; N] {
        &self.0
    }
}

impl<const N: usize> DerefMut for Secret<N> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8; N] {
        &mut self.0
    }
}
