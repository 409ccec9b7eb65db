//! getrandom(2) and getentropy(3).

use core::ffi::{c_int, c_uint, c_void};

use squall_doors::counters::{self, Door};

use crate::{draw, gate, real};

/// Longest request of getentropy, in bytes (getentropy(3); POSIX.1-2024 `GETENTROPY_MAX`).
const LONGEST_ENTROPY: usize = 256;

/// getrandom(2): fills `buffer` and returns how many bytes it got; or -1, with `errno` as the kernel
/// sets it.
///
/// # Safety
/// `buffer` is writable for `length` bytes.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn getrandom(buffer: *mut c_void, length: usize, flags: c_uint) -> isize {
    if gate::is_open(flags)
        // SAFETY: the caller's promise.
        && let Some(out) = unsafe { draw::place(buffer, length) }
        && draw::serve(Door::Getrandom, out)
    {
        return out.len() as isize;
    }
    counters::forwarded(Door::Getrandom);
    // SAFETY: as above.
    unsafe {
        match real::GETRANDOM.get() {
            Some(getrandom) => getrandom(buffer, length, flags),
            None => libc::syscall(libc::SYS_getrandom, buffer, length, flags) as isize,
        }
    }
}

/// getentropy(3): fills `buffer` and returns 0; or -1, with `EIO` in `errno` for more than 256
/// bytes, and otherwise what the C library says. Never interrupted by signals.
///
/// # Safety
/// `buffer` is writable for `length` bytes.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn getentropy(buffer: *mut c_void, length: usize) -> c_int {
    if length > LONGEST_ENTROPY {
        draw::set_errno(libc::EIO);
        return -1;
    }
    if gate::is_open(0)
        // SAFETY: the caller's promise.
        && let Some(out) = unsafe { draw::place(buffer, length) }
        && draw::serve(Door::Getentropy, out)
    {
        return 0;
    }
    counters::forwarded(Door::Getentropy);
    // SAFETY: as above.
    unsafe {
        match real::GETENTROPY.get() {
            Some(getentropy) => getentropy(buffer, length),
            None => getentropy_of_kernel(buffer, length),
        }
    }
}

/// As glibc does it: the system call until there are enough bytes.
unsafe fn getentropy_of_kernel(buffer: *mut c_void, length: usize) -> c_int {
    let before = draw::errno();
    let mut filled = 0;
    while filled < length {
        // SAFETY: the caller's promise, for what is left.
        let count = unsafe {
            libc::syscall(
                libc::SYS_getrandom,
                buffer.wrapping_byte_add(filled),
                length - filled,
                0,
            )
        };
        match count {
            count if count > 0 => filled += count as usize,
            0 => {
                draw::set_errno(libc::EIO);
                return -1;
            }
            _ if draw::errno() == libc::EINTR => {}
            _ => return -1,
        }
    }
    draw::set_errno(before);
    0
}
