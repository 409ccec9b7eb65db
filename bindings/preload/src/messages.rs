//! recvmsg(2) and recvmmsg(2), which may receive descriptors from other processes (unix(7),
//! `SCM_RIGHTS`): [`device`] forgets those descriptors.

use core::ffi::{c_int, c_uint};
use core::slice;

use libc::{mmsghdr, msghdr, timespec};

use crate::{device, real};

/// recvmsg(2).
///
/// # Safety
/// As recvmsg(2).
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn recvmsg(fd: c_int, message: *mut msghdr, flags: c_int) -> isize {
    // SAFETY: the caller's promise.
    unsafe {
        let length = match real::RECVMSG.get() {
            Some(recvmsg) => recvmsg(fd, message, flags),
            None => libc::syscall(libc::SYS_recvmsg, fd, message, flags) as isize,
        };
        if length >= 0 {
            forget_received(&*message);
        }
        length
    }
}

/// recvmmsg(2).
///
/// # Safety
/// As recvmmsg(2).
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn recvmmsg(
    fd: c_int,
    messages: *mut mmsghdr,
    most: c_uint,
    flags: c_int,
    timeout: *mut timespec,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        let count = match real::RECVMMSG.get() {
            Some(recvmmsg) => recvmmsg(fd, messages, most, flags, timeout),
            None => libc::syscall(libc::SYS_recvmmsg, fd, messages, most, flags, timeout) as c_int,
        };
        if count > 0 {
            for received in slice::from_raw_parts(messages, count as usize) {
                forget_received(&received.msg_hdr);
            }
        }
        count
    }
}

/// Forgets the descriptors in a received message.
///
/// # Safety
/// The kernel has received this message.
unsafe fn forget_received(message: &msghdr) {
    // SAFETY: the kernel has written a chain of whole control messages (cmsg(3)).
    unsafe {
        let mut control = libc::CMSG_FIRSTHDR(message);
        while let Some(header) = control.as_ref() {
            if header.cmsg_level == libc::SOL_SOCKET && header.cmsg_type == libc::SCM_RIGHTS {
                // musl has a number of 32 bits here.
                #[allow(clippy::unnecessary_cast)]
                let length = header.cmsg_len as usize;
                let length = length.saturating_sub(libc::CMSG_LEN(0) as usize);
                let fds = libc::CMSG_DATA(control).cast::<c_int>();
                for index in 0..length / size_of::<c_int>() {
                    device::forget(fds.add(index).read_unaligned());
                }
            }
            control = libc::CMSG_NXTHDR(message, control);
        }
    }
}
