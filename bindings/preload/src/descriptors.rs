//! Functions that make a descriptor mean another file: open(2), dup(2), fcntl(2), close(2) and
//! others. They call the next function of the same name, and [`device`] forgets the descriptor.
//!
//! Some are variadic in C. With the calling conventions of Linux on x86-64 (System V) and AArch64
//! (AAPCS64), variable arguments that are integers or pointers are passed like named ones. So these
//! functions name every possible argument, and pass on whatever the registers hold; the next function
//! uses only the arguments that it expects.

use core::ffi::{c_char, c_int, c_long, c_uint};

use libc::mode_t;

use crate::{device, real};

/// Forgets the descriptor that a call returned, if it returned one; keeps `errno`.
#[inline]
fn forget_returned(fd: c_int) -> c_int {
    device::forget(fd);
    fd
}

/// Defines open(2) and openat(2), which have two names each.
macro_rules! opens {
    ($($open:ident $next:ident, $openat:ident $next_at:ident;)*) => {$(
        /// open(2).
        ///
        /// # Safety
        /// As open(2).
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $open(path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
            // SAFETY: the caller's promise.
            forget_returned(unsafe {
                match real::$next.get() {
                    Some(open) => open(path, flags, mode),
                    None => openat_of_kernel(libc::AT_FDCWD, path, flags, mode),
                }
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
            flags: c_int,
            mode: mode_t,
        ) -> c_int {
            // SAFETY: the caller's promise.
            forget_returned(unsafe {
                match real::$next_at.get() {
                    Some(openat) => openat(folder, path, flags, mode),
                    None => openat_of_kernel(folder, path, flags, mode),
                }
            })
        }
    )*};
}

opens! {
    open OPEN, openat OPENAT;
    open64 OPEN64, openat64 OPENAT64;
}

/// Defines open(2) and openat(2) as glibc's `_FORTIFY_SOURCE` calls them: without a mode.
macro_rules! checked_opens {
    ($($open:ident $next:ident, $openat:ident $next_at:ident;)*) => {$(
        /// open(2) without a mode.
        ///
        /// # Safety
        /// As open(2).
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $open(path: *const c_char, flags: c_int) -> c_int {
            // SAFETY: the caller's promise.
            forget_returned(unsafe {
                match real::$next.get() {
                    Some(open) => open(path, flags),
                    None => openat_of_kernel(libc::AT_FDCWD, path, flags, 0),
                }
            })
        }

        /// openat(2) without a mode.
        ///
        /// # Safety
        /// As openat(2).
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $openat(
            folder: c_int,
            path: *const c_char,
            flags: c_int,
        ) -> c_int {
            // SAFETY: the caller's promise.
            forget_returned(unsafe {
                match real::$next_at.get() {
                    Some(openat) => openat(folder, path, flags),
                    None => openat_of_kernel(folder, path, flags, 0),
                }
            })
        }
    )*};
}

checked_opens! {
    __open_2 OPEN_2, __openat_2 OPENAT_2;
    __open64_2 OPEN64_2, __openat64_2 OPENAT64_2;
}

unsafe fn openat_of_kernel(
    folder: c_int,
    path: *const c_char,
    flags: c_int,
    mode: mode_t,
) -> c_int {
    // SAFETY: the caller's promise. The kernel looks at the mode only with flags that need one.
    unsafe { libc::syscall(libc::SYS_openat, folder, path, flags, mode) as c_int }
}

/// dup(2).
///
/// # Safety
/// As dup(2).
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn dup(fd: c_int) -> c_int {
    // SAFETY: the caller's promise.
    forget_returned(unsafe {
        match real::DUP.get() {
            Some(dup) => dup(fd),
            None => libc::syscall(libc::SYS_dup, fd) as c_int,
        }
    })
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
        match real::DUP3.get() {
            Some(dup3) => dup3(from, to, flags),
            None => libc::syscall(libc::SYS_dup3, from, to, flags) as c_int,
        }
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
            let result = unsafe {
                match real::$next.get() {
                    Some(fcntl) => fcntl(fd, command, argument),
                    None => libc::syscall(libc::SYS_fcntl, fd, command, argument) as c_int,
                }
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
        match real::PIDFD_GETFD.get() {
            Some(pidfd_getfd) => pidfd_getfd(process, fd, flags),
            None => libc::syscall(libc::SYS_pidfd_getfd, process, fd, flags) as c_int,
        }
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
    unsafe {
        match real::CLOSE.get() {
            Some(close) => close(fd),
            None => libc::syscall(libc::SYS_close, fd) as c_int,
        }
    }
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
        match real::CLOSE_RANGE.get() {
            Some(close_range) => close_range(first, last, flags),
            None => libc::syscall(libc::SYS_close_range, first, last, flags) as c_int,
        }
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
