//! Another crate that defines the C function `getrandom`. Its bytes are all 2.

use std::ffi::c_void;

/// # Safety
/// `buffer` is writable for `length` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn getrandom(buffer: *mut c_void, length: usize, _flags: u32) -> isize {
    // SAFETY: the caller's promise.
    unsafe { buffer.cast::<u8>().write_bytes(2, length) };
    length as isize
}
