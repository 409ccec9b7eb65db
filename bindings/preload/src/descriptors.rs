//! Functions that make a descriptor mean another file: open(2), dup(2), fcntl(2), close(2), recvmsg(2)
//! and others. They call the next function of the same name, and [`device`] forgets the descriptor.
//!
//! Some are variadic in C. With the calling conventions of Linux on x86-64 (System V) and AArch64
//! (AAPCS64), variable arguments that are integers or pointers are passed like named ones. So these
//! functions name every possible argument, and pass on whatever the registers hold; the next function
//! uses only the arguments that it expects.

use core::ffi::{c_char, c_int, c_long, c_uint};
use core::slice;

use libc::{mmsghdr, mode_t, msghdr, timespec};

use crate::device;
use crate::real::{self, next_or_call};

/// Forgets the descriptor that a call returned, if it returned one; keeps `errno`.
#[inline]
fn forget_returned(fd: c_int) -> c_int {
    device::forget(fd);
    fd
}

/// Defines open(2) and openat(2), which have two names each, and others without a mode, by which glibc's
/// `_FORTIFY_SOURCE` calls them.
macro_rules! opens {
    ($($open:ident $next:ident, $openat:ident $next_at:ident ($($mode:ident)?);)*) => {$(
        /// open(2).
        ///
        /// # Safety
        /// As open(2).
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $open(
            path: *const c_char,
            flags: c_int
            $(, $mode: mode_t)?
        ) -> c_int {
            let (call, here) = (libc::SYS_openat, libc::AT_FDCWD);
            // SAFETY: the caller's promise. The kernel looks at the mode only with flags that need one.
            forget_returned(unsafe {
                next_or_call!($next(path, flags $(, $mode)?), call, here, path, flags, 0 $(| $mode)?)
            })
        }

        /// openat(2).
        ///
        /// # Safety
        /// As openat(2).
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $openat(
            folder: c_int,
            path: *const c_char,
            flags: c_int
            $(, $mode: mode_t)?
        ) -> c_int {
            let call = libc::SYS_openat;
            // SAFETY: the caller's promise, as above.
            forget_returned(unsafe {
                next_or_call!(
                    $next_at(folder, path, flags $(, $mode)?), call, folder, path, flags, 0 $(| $mode)?
                )
            })
        }
    )*};
}

opens! {
    open OPEN, openat OPENAT (mode);
    open64 OPEN64, openat64 OPENAT64 (mode);
    __open_2 OPEN_2, __openat_2 OPENAT_2 ();
    __open64_2 OPEN64_2, __openat64_2 OPENAT64_2 ();
}

/// dup(2).
///
/// # Safety
/// As dup(2).
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn dup(fd: c_int) -> c_int {
    // SAFETY: the caller's promise.
    forget_returned(unsafe { next_or_call!(DUP(fd), libc::SYS_dup, fd) })
}

/// dup2(2).
///
/// # Safety
/// As dup2(2).
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn dup2(from: c_int, to: c_int) -> c_int {
    // SAFETY: the caller's promise. Not every architecture has the system call dup2. dup3 refuses equal
    // numbers, for which dup2 returns the number if it is open.
    forget_returned(unsafe {
        match real::DUP2.get() {
            Some(dup2) => dup2(from, to),
            None if from == to => match libc::syscall(libc::SYS_fcntl, from, libc::F_GETFD) {
                -1 => -1,
                _ => to,
            },
            None => libc::syscall(libc::SYS_dup3, from, to, 0) as c_int,
        }
    })
}

/// dup3(2).
///
/// # Safety
/// As dup3(2).
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn dup3(from: c_int, to: c_int, flags: c_int) -> c_int {
    // SAFETY: the caller's promise.
    forget_returned(unsafe {
        next_or_call!(DUP3(from, to, flags), libc::SYS_dup3, from, to, flags)
    })
}

/// Defines fcntl(2), which has two names.
macro_rules! fcntls {
    ($($name:ident $next:ident;)*) => {$(
        /// fcntl(2). Its argument is an integer or a pointer, which fits in a register.
        ///
        /// # Safety
        /// As fcntl(2).
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $name(fd: c_int, command: c_int, argument: c_long) -> c_int {
            // SAFETY: the caller's promise.
            let result: c_int = unsafe {
                let call = libc::SYS_fcntl;
                next_or_call!($next(fd, command, argument), call, fd, command, argument)
            };
            match command {
                libc::F_DUPFD | libc::F_DUPFD_CLOEXEC => forget_returned(result),
                _ => result,
            }
        }
    )*};
}

fcntls! {
    fcntl FCNTL;
    fcntl64 FCNTL64;
}

/// pidfd_getfd(2).
///
/// # Safety
/// As pidfd_getfd(2).
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pidfd_getfd(process: c_int, fd: c_int, flags: c_uint) -> c_int {
    // SAFETY: the caller's promise.
    forget_returned(unsafe {
        let call = libc::SYS_pidfd_getfd;
        next_or_call!(PIDFD_GETFD(process, fd, flags), call, process, fd, flags)
    })
}

/// close(2).
///
/// # Safety
/// As close(2).
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn close(fd: c_int) -> c_int {
    device::forget(fd);
    // SAFETY: the caller's promise.
    unsafe { next_or_call!(CLOSE(fd), libc::SYS_close, fd) }
}

/// close_range(2).
///
/// # Safety
/// As close_range(2).
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int {
    device::forget_all(first, last);
    // SAFETY: the caller's promise.
    unsafe {
        let call = libc::SYS_close_range;
        next_or_call!(CLOSE_RANGE(first, last, flags), call, first, last, flags)
    }
}

/// closefrom(3).
///
/// # Safety
/// As closefrom(3).
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn closefrom(first: c_int) {
    let from = c_uint::try_from(first).unwrap_or(0);
    device::forget_all(from, c_uint::MAX);
    // SAFETY: the caller's promise.
    unsafe {
        match real::CLOSEFROM.get() {
            Some(closefrom) => closefrom(first),
            None => drop(libc::syscall(libc::SYS_close_range, from, c_uint::MAX, 0)),
        }
    }
}

/// recvmsg(2), which may receive descriptors from other processes (unix(7), `SCM_RIGHTS`).
///
/// # Safety
/// As recvmsg(2).
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn recvmsg(fd: c_int, message: *mut msghdr, flags: c_int) -> isize {
    // SAFETY: the caller's promise.
    unsafe {
        let length = next_or_call!(
            RECVMSG(fd, message, flags),
            libc::SYS_recvmsg,
            fd,
            message,
            flags
        );
        if length >= 0 {
            forget_received(&*message);
        }
        length
    }
}

/// recvmmsg(2), like [`recvmsg`].
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
        let call = libc::SYS_recvmmsg;
        let count = next_or_call!(
            RECVMMSG(fd, messages, most, flags, timeout),
            call,
            fd,
            messages,
            most,
            flags,
            timeout
        );
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
