//! Bytes that are wiped when they are no longer needed.
//!
//! `zeroize` writes byte arrays one volatile byte at a time, which costs more than the AES of a
//! refill. Here they are filled with whole vectors, and its barrier keeps the stores from being
//! optimised away.

use core::ops::{Deref, DerefMut};

use crate::seam::{self, Seam};

/// Wipes bytes, or words, for good.
#[inline]
pub(crate) fn wipe<W: Copy + Default>(words: &mut [W]) {
    if seam::is_off(Seam::Wiping) {
        return;
    }
    words.fill(W::default());
    zeroize::optimization_barrier(words);
}

/// Does `work`, and wipes `N` bytes of the stack from its frame on, where it and what it called may
/// have left copies of secrets.
#[inline]
pub(crate) fn wiping_stack<const N: usize>(work: impl FnOnce()) {
    in_frame_of_its_own(work);
    wipe_stack_below::<N>();
}

/// Does `work` in a frame that the same caller's [`wipe_stack_below`] reaches.
#[inline]
pub(crate) fn in_frame_of_its_own(work: impl FnOnce()) {
    #[inline(never)]
    fn in_frame(work: impl FnOnce()) {
        work();
    }
    /// Between the caller's frame and what is wiped: [`wipe_stack_below`] has things of its own at
    /// its beginning.
    #[inline(never)]
    fn below_a_gap(work: impl FnOnce()) {
        let gap = [0u8; 64];
        in_frame(work);
        zeroize::optimization_barrier(&gap);
    }
    below_a_gap(work);
}

/// Wipes `N` bytes of the stack below the caller's frame.
#[inline]
pub(crate) fn wipe_stack_below<const N: usize>() {
    #[inline(never)]
    fn wipe_below<const N: usize>() {
        wipe(&mut [0u8; N]);
    }
    if !seam::is_off(Seam::Wiping) {
        wipe_below::<N>();
    }
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
