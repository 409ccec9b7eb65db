//! What C gives, a pointer and a length, as what Rust takes.

use core::ffi::c_int;

use crate::error::{SQUALL_E_LENGTH, SQUALL_E_NULL};

/// The bytes at `start`; none if there are none, wherever they are.
///
/// # Errors
/// [`SQUALL_E_NULL`] and [`SQUALL_E_LENGTH`].
///
/// # Safety
/// `start` is null, or has `len` bytes that nobody else uses while the result lives.
#[inline(always)]
pub(crate) unsafe fn writable<'a>(start: *mut u8, len: usize) -> Result<&'a mut [u8], c_int> {
    // One comparison for both ends: without one of them, 0 is the largest number.
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
    // its own. Whatever C left in the bytes are values of them.
    Ok(unsafe { core::slice::from_raw_parts_mut(start, len) })
}
