//! Turns C's pointers and lengths into slices.

use core::ffi::c_int;

use crate::error::{SQUALL_E_LENGTH, SQUALL_E_NULL};

/// The `len` bytes at `start` as a slice; empty if `len` is 0, whatever `start` is.
///
/// # Errors
/// [`SQUALL_E_LENGTH`] if `len` exceeds `isize::MAX`, else [`SQUALL_E_NULL`] if `start` is null.
///
/// # Safety
/// `start` is null, or has `len` bytes that nobody else uses while the result lives.
#[inline(always)]
pub(crate) unsafe fn writable<'a>(start: *mut u8, len: usize) -> Result<&'a mut [u8], c_int> {
    // One comparison for both ends: `len - 1` wraps around to the largest number if `len` is 0.
    if len.wrapping_sub(1) >= isize::MAX as usize {
        return match len {
            0 => Ok(&mut []),
            _ => Err(SQUALL_E_LENGTH),
        };
    }
    if start.is_null() {
        return Err(SQUALL_E_NULL);
    }
    // SAFETY: not null, no longer than an object may be, and by the caller's promise writable and
    // exclusive. C may have left any bytes in it; all of them are valid.
    Ok(unsafe { core::slice::from_raw_parts_mut(start, len) })
}
