//! read(2), pread(2) and their fortified forms. Squall serves reads of /dev/random and /dev/urandom;
//! all others are passed on at once. [`scattered`] has the calls with several buffers.

mod scattered;

use core::ffi::{c_int, c_void};

use libc::off_t;
use squall_binding_base::counters::{self, Interface};
use squall_binding_base::request;

use crate::real::{self, next_or_call};
use crate::{device, gate};

/// read(2): returns the number of bytes in `buffer`, or -1 and `errno`.
///
/// # Safety
/// `buffer` is writable for `count` bytes.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn read(fd: c_int, buffer: *mut c_void, count: usize) -> isize {
    // SAFETY: the caller's promise.
    unsafe {
        if device::may_be_random(fd)
            && let Some(length) = read_device(fd, buffer, count)
        {
            return length;
        }
        next_or_call!(READ(fd, buffer, count), libc::SYS_read, fd, buffer, count)
    }
}

/// read(2) as glibc's `_FORTIFY_SOURCE` calls it: `buffer` has `size` bytes, and the C library ends
/// the program if that is less than `count`.
///
/// # Safety
/// `buffer` is writable for `size` bytes.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __read_chk(
    fd: c_int,
    buffer: *mut c_void,
    count: usize,
    size: usize,
) -> isize {
    // SAFETY: the caller's promise.
    unsafe {
        if count <= size {
            return read(fd, buffer, count);
        }
        match real::READ_CHK.get() {
            Some(read_chk) => read_chk(fd, buffer, count, size),
            None => libc::abort(),
        }
    }
}

/// Defines pread(2) and its fortified form, which have two names each.
macro_rules! pread {
    ($($name:ident, $next:ident, $checked:ident, $next_checked:ident;)*) => {$(
        /// pread(2). The devices have no offset, so any valid one gives the same as another.
        ///
        /// # Safety
        /// `buffer` is writable for `count` bytes.
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $name(
            fd: c_int,
            buffer: *mut c_void,
            count: usize,
            offset: off_t,
        ) -> isize {
            // SAFETY: the caller's promise.
            unsafe {
                if device::may_be_random(fd)
                    && is_offset(offset)
                    && let Some(length) = read_device(fd, buffer, count)
                {
                    return length;
                }
                let call = libc::SYS_pread64;
                next_or_call!($next(fd, buffer, count, offset), call, fd, buffer, count, offset)
            }
        }

        /// pread(2) as glibc's `_FORTIFY_SOURCE` calls it: `buffer` has `size` bytes, and the C
        /// library ends the program if that is less than `count`.
        ///
        /// # Safety
        /// `buffer` is writable for `size` bytes.
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $checked(
            fd: c_int,
            buffer: *mut c_void,
            count: usize,
            offset: off_t,
            size: usize,
        ) -> isize {
            // SAFETY: the caller's promise.
            unsafe {
                if count <= size {
                    return $name(fd, buffer, count, offset);
                }
                match real::$next_checked.get() {
                    Some(pread_chk) => pread_chk(fd, buffer, count, offset, size),
                    None => libc::abort(),
                }
            }
        }
    )*};
}

pread! {
    pread, PREAD, __pread_chk, PREAD_CHK;
    pread64, PREAD64, __pread64_chk, PREAD64_CHK;
}

/// Whether squall may serve a read at `offset`. The kernel refuses negative offsets, and those so
/// large that the read would pass the largest offset.
fn is_offset(offset: off_t) -> bool {
    const LAST: off_t = off_t::MAX - request::MAX_REQUEST as off_t;
    (0..=LAST).contains(&offset)
}

/// Serves a read if `fd` is a device; `None` if the kernel must serve it.
#[cold]
unsafe fn read_device(fd: c_int, buffer: *mut c_void, count: usize) -> Option<isize> {
    if !device::is_random(fd) {
        return None;
    }
    if may_serve_device(fd)
        // SAFETY: the caller's promise.
        && let Some(out) = unsafe { request::slice_of_request(buffer, count) }
        && gate::serve(Interface::Device, out)
    {
        return Some(out.len() as isize);
    }
    counters::forwarded(Interface::Device);
    None
}

/// Whether the kernel would serve a read of the device `fd`. Ends a cancelled thread, because reads
/// are cancellation points (pthreads(7)).
fn may_serve_device(fd: c_int) -> bool {
    unsafe extern "C-unwind" {
        fn pthread_testcancel();
    }
    // SAFETY: nothing is held that would have to be released.
    unsafe { pthread_testcancel() };
    gate::is_ready() && device::is_readable(fd)
}
