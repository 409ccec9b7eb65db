//! Bytes that are wiped when they are no longer needed.
//!
//! `zeroize` wipes byte arrays one volatile byte at a time, which costs more than the AES of a refill.
//! This module fills them with whole vectors, and uses `zeroize`'s barrier to keep the compiler from
//! removing the stores.

use core::ops::{Deref, DerefMut};

use crate::Error;
use crate::engine::registers;
use crate::failpoint::{self, Failpoint};

/// Bytes of stack on which a generator's request may leave keys, counters and input. The portable engine and ChaCha20 wipe
/// what they use below that.
pub(crate) const STACK: usize = 4 << 10;

/// Runs `work`, which handles secrets, clears the registers and wipes the stack that it used. Nothing that branches comes
/// after `work`: optimised code then makes the result in its place, and no copy of it is left in the caller's frame.
#[inline]
pub(crate) fn without_traces<R>(work: impl FnOnce() -> R) -> R {
    let result = in_separate_frame(|| {
        let _clear = registers::clear_on_return();
        work()
    });
    wipe_stack_below::<STACK>();
    result
}

/// [`without_traces`] of work that may fail.
#[inline]
pub(crate) fn try_without_traces(work: impl FnOnce() -> Result<(), Error>) -> Result<(), Error> {
    let mut outcome = Ok(());
    without_traces(|| {
        // The unused bytes of a result would carry along stack contents.
        if let Err(error) = work() {
            outcome = Err(error);
        }
    });
    outcome
}

/// Wipes bytes or words; the compiler cannot remove the stores.
#[inline]
pub fn wipe<W: Copy + Default>(words: &mut [W]) {
    if failpoint::is_active(Failpoint::SkipWiping) {
        return;
    }
    words.fill(W::default());
    zeroize::optimization_barrier(words);
}

/// Runs `work`, then wipes `N` bytes of the stack from its frame on, where it and its callees may
/// have left copies of secrets.
#[inline]
pub fn wiping_stack<const N: usize>(work: impl FnOnce()) {
    in_separate_frame(work);
    wipe_stack_below::<N>();
}

/// Runs `work` in a frame that the same caller's [`wipe_stack_below`] reaches.
#[inline]
pub fn in_separate_frame<R>(work: impl FnOnce() -> R) -> R {
    #[inline(never)]
    fn in_frame<R>(work: impl FnOnce() -> R) -> R {
        work()
    }
    /// Leaves a gap below the caller's frame, because [`wipe_stack_below`] keeps its own variables
    /// there.
    #[inline(never)]
    fn below_a_gap<R>(work: impl FnOnce() -> R) -> R {
        let gap = [0u8; 64];
        let result = in_frame(work);
        zeroize::optimization_barrier(&gap);
        result
    }
    below_a_gap(work)
}

/// Wipes `N` bytes of the stack below the caller's frame.
#[inline]
pub fn wipe_stack_below<const N: usize>() {
    /// By its ABI it does not unwind: the caller's result needs no second place for that case.
    #[inline(never)]
    extern "C" fn wipe_below<const N: usize>() {
        if !failpoint::is_active(Failpoint::SkipWiping) {
            wipe(&mut [0u8; N]);
        }
    }
    wipe_below::<N>();
}

/// A generator's state as `N` bytes, for the crate `squall`, which keeps it in memory of its own. It is a trait, so that no
/// program calls it by accident: whoever has the bytes can compute the output.
pub trait State<const N: usize> {
    /// Copies the state to `state`. The caller wipes the copy and clears the registers.
    fn store(&self, state: &mut [u8; N]);
}

/// `N` bytes, wiped on drop.
#[allow(missing_debug_implementations, reason = "secrets are never printed")]
pub struct Secret<const N: usize>([u8; N]);

impl<const N: usize> Secret<N> {
    /// All zeros, to be overwritten.
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

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use core::hint::black_box;
    use core::mem::MaybeUninit;

    /// The results of `read` before `value` is dropped, and afterwards on the same memory.
    pub(crate) fn around_drop<T, S>(value: T, read: impl Fn(*const T) -> S) -> [S; 2] {
        let mut place = Box::new(MaybeUninit::new(value));
        let value = place.as_mut_ptr();
        let before = read(value);
        // SAFETY: the value is dropped once, and not used afterwards: its memory is read while the
        // box still has it.
        unsafe { value.drop_in_place() };
        [before, read(value)]
    }

    /// Copies the stack below the caller's frame.
    #[inline(never)]
    pub(crate) fn copy_stack_below(copy: &mut [u8]) {
        let here = (&raw const copy).cast::<u8>();
        // SAFETY: a thread's stack is larger, and stays mapped. Nothing is written.
        unsafe {
            here.sub(copy.len())
                .copy_to_nonoverlapping(copy.as_mut_ptr(), copy.len())
        };
    }

    #[test]
    fn wiped_words_are_zero() {
        let mut words = [5u64; 9];
        wipe(&mut words);
        assert_eq!(words, [0; 9]);
    }

    #[test]
    fn dropping_a_secret_wipes_it() {
        let around = around_drop(Secret([7; 40]), |secret| {
            // SAFETY: the secret is these bytes, before and after its drop.
            unsafe { secret.cast::<[u8; 40]>().read_volatile() }
        });
        assert_eq!(around, [[7; 40], [0; 40]]);
    }

    /// Words that are left on the stack.
    const MARKS: usize = 64;

    const MARK: u64 = 0x5ec2_e75e_c2e7_5ec2;

    /// Leaves marks on the stack, and returns their address.
    #[inline(never)]
    fn leave_marks() -> *const u64 {
        black_box([MARK; MARKS].as_mut_ptr())
    }

    /// How many of the marks are still there.
    fn count_marks(at: *const u64) -> usize {
        (0..MARKS)
            // SAFETY: the stack was that deep, and stays mapped. Nothing is written.
            .filter(|&index| unsafe { at.wrapping_add(index).read_volatile() } == MARK)
            .count()
    }

    #[cfg_attr(miri, ignore = "it reads the stack below its frame")]
    #[test]
    fn the_stack_that_work_used_is_wiped() {
        const DEPTH: usize = 16 << 10;
        let mut at = core::ptr::null();
        in_separate_frame(|| at = leave_marks());
        assert!(count_marks(at) > MARKS / 2, "the search finds what is left");
        wipe_stack_below::<DEPTH>();
        assert_eq!(count_marks(at), 0);
        wiping_stack::<DEPTH>(|| at = leave_marks());
        assert_eq!(count_marks(at), 0);
    }
}
