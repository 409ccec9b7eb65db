//! getrandom(2) and getentropy(3).

use core::ffi::{c_int, c_uint, c_void};

use squall::internal::keep_errno;
use squall_binding_base::counters::{self, Interface};
use squall_binding_base::request;

use crate::{gate, real};

/// The longest request of getentropy in bytes (getentropy(3); POSIX.1-2024 `GETENTROPY_MAX`).
const MAX_ENTROPY: usize = 256;

/// getrandom(2): fills `buffer` and returns the number of bytes; or -1, with the kernel's `errno`.
///
/// # Safety
/// `buffer` is writable for `length` bytes.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn getrandom(buffer: *mut c_void, length: usize, flags: c_uint) -> isize {
    // SAFETY: the caller's promise.
    unsafe {
        if let Some(count) = serve(buffer, length, flags) {
            return count as isize;
        }
        match real::GETRANDOM.get_unless_kernel_only() {
            Some(getrandom) => getrandom(buffer, length, flags),
            None => request::getrandom_of_kernel(buffer, length, flags),
        }
    }
}

/// Fills `buffer` and returns its length; `None` if the kernel must serve the request.
///
/// # Safety
/// `buffer` is writable for `length` bytes.
#[inline(always)]
pub(crate) unsafe fn serve(buffer: *mut c_void, length: usize, flags: c_uint) -> Option<usize> {
    if gate::may_serve(flags)
        // SAFETY: the caller's promise.
        && let Some(out) = unsafe { request::slice_of_request(buffer, length) }
        && gate::serve(Interface::Getrandom, out)
    {
        return Some(length);
    }
    counters::forwarded(Interface::Getrandom);
    None
}

/// getentropy(3): fills `buffer` and returns 0; or -1, with `EIO` in `errno` for more than 256
/// bytes, and otherwise the C library's `errno`. Signals never interrupt it.
///
/// # Safety
/// `buffer` is writable for `length` bytes.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn getentropy(buffer: *mut c_void, length: usize) -> c_int {
    if length > MAX_ENTROPY {
        request::set_errno(libc::EIO);
        return -1;
    }
    if gate::may_serve(0)
        // SAFETY: the caller's promise.
        && let Some(out) = unsafe { request::slice_of_request(buffer, length) }
        && gate::serve(Interface::Getentropy, out)
    {
        return 0;
    }
    counters::forwarded(Interface::Getentropy);
    // SAFETY: the caller's promise.
    unsafe {
        match real::GETENTROPY.get_unless_kernel_only() {
            Some(getentropy) => getentropy(buffer, length),
            None => fill_from_kernel(buffer, length),
        }
    }
}

/// Like glibc's getentropy: repeats the system call until `buffer` is full; 0, or -1 and `errno`.
///
/// # Safety
/// `buffer` is writable for `length` bytes.
pub(crate) unsafe fn fill_from_kernel(buffer: *mut c_void, length: usize) -> c_int {
    let mut filled = 0;
    while filled < length {
        let rest = buffer.wrapping_byte_add(filled).cast();
        // SAFETY: the caller's promise, for the rest of the buffer.
        let answer =
            keep_errno(|| unsafe { squall::internal::getrandom(rest, length - filled, 0) });
        match answer {
            Ok(count) if count > 0 => filled += count,
            Err(libc::EINTR) => {}
            other => {
                request::set_errno(other.err().unwrap_or(libc::EIO));
                return -1;
            }
        }
    }
    0
}
