//! readv(2), preadv(2) and preadv2(2).

use core::ffi::c_int;
use core::mem::MaybeUninit;

use libc::{iovec, off_t};
use squall_binding_base::counters::{self, Interface};
use squall_binding_base::request;

use super::{is_offset, may_serve_device};
use crate::real::next_or_call;
use crate::{device, gate, memory};

/// The most buffers of a call: `UIO_MAXIOV` of Linux, which is `IOV_MAX`.
const MAX_BUFFERS: usize = 1024;

/// How many descriptions of buffers are read at once.
const CHUNK: usize = 16;

/// readv(2): fills one buffer after the other.
///
/// # Safety
/// `buffers` has `count` buffers, which are writable.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn readv(fd: c_int, buffers: *const iovec, count: c_int) -> isize {
    // SAFETY: the caller's promise.
    unsafe {
        if device::may_be_random(fd)
            && let Some(length) = read_device(fd, buffers, count)
        {
            return length;
        }
        next_or_call!(
            READV(fd, buffers, count),
            libc::SYS_readv,
            fd,
            buffers,
            count
        )
    }
}

/// Defines preadv(2) and preadv2(2), which are called two ways each.
macro_rules! preadv {
    ($($name:ident, $next:ident, $flagged:ident, $next_flagged:ident;)*) => {$(
        /// preadv(2): as readv(2), at an offset.
        ///
        /// # Safety
        /// `buffers` has `count` buffers, which are writable.
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $name(
            fd: c_int,
            buffers: *const iovec,
            count: c_int,
            offset: off_t,
        ) -> isize {
            // SAFETY: the caller's promise.
            unsafe {
                if device::may_be_random(fd)
                    && is_offset(offset)
                    && let Some(length) = read_device(fd, buffers, count)
                {
                    return length;
                }
                let call = libc::SYS_preadv;
                next_or_call!($next(fd, buffers, count, offset), call, fd, buffers, count, offset, 0)
            }
        }

        /// preadv2(2): like preadv(2), but the offset -1 means readv(2). The kernel serves calls with
        /// flags.
        ///
        /// # Safety
        /// `buffers` has `count` buffers, which are writable.
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $flagged(
            fd: c_int,
            buffers: *const iovec,
            count: c_int,
            offset: off_t,
            flags: c_int,
        ) -> isize {
            // SAFETY: the caller's promise.
            unsafe {
                if flags == 0
                    && device::may_be_random(fd)
                    && (offset == -1 || is_offset(offset))
                    && let Some(length) = read_device(fd, buffers, count)
                {
                    return length;
                }
                let call = libc::SYS_preadv2;
                next_or_call!(
                    $next_flagged(fd, buffers, count, offset, flags),
                    call, fd, buffers, count, offset, 0, flags
                )
            }
        }
    )*};
}

preadv! {
    preadv, PREADV, preadv2, PREADV2;
    preadv64, PREADV64, preadv64v2, PREADV64V2;
}

/// Like [`super::read_device`], for several buffers.
#[cold]
unsafe fn read_device(fd: c_int, buffers: *const iovec, count: c_int) -> Option<isize> {
    if !device::is_random(fd) {
        return None;
    }
    let served = if may_serve_device(fd) {
        // SAFETY: the caller's promise.
        unsafe { fill_all(buffers, count) }
    } else {
        None
    };
    match served {
        Some(length) => counters::served(Interface::Device, length),
        None => counters::forwarded(Interface::Device),
    }
    served.map(|length| length as isize)
}

/// Fills all buffers in order; `None` if the kernel would refuse or shorten any of them, or if squall
/// fails.
unsafe fn fill_all(buffers: *const iovec, count: c_int) -> Option<usize> {
    let count = usize::try_from(count)
        .ok()
        .filter(|count| *count <= MAX_BUFFERS)?;
    if count == 0 {
        return Some(0);
    }
    let mut total = 0usize;
    for_each(buffers, count, |buffer| {
        total = total.checked_add(buffer.iov_len)?;
        (total <= request::MAX_REQUEST).then_some(())
    })?;
    for_each(buffers, count, |buffer| {
        // SAFETY: the caller's promise.
        let out = unsafe { request::slice_of_request(buffer.iov_base, buffer.iov_len) }?;
        gate::fill(out).then_some(())
    })?;
    Some(total)
}

/// Calls `action` with each description of a buffer; `None` if they are not readable, or if it returns that.
fn for_each(
    buffers: *const iovec,
    count: usize,
    mut action: impl FnMut(&iovec) -> Option<()>,
) -> Option<()> {
    let mut chunk = [const { MaybeUninit::uninit() }; CHUNK];
    for first in (0..count).step_by(CHUNK) {
        let length = CHUNK.min(count - first);
        let read = memory::read(buffers.wrapping_add(first), &mut chunk, length).ok()?;
        read.iter().try_for_each(&mut action)?;
    }
    Some(())
}
