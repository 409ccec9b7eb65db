//! The clone generation, and watches that wait for clones of the virtual machine and restores of the process.

use core::ffi::{c_char, c_int};
use core::ptr;
use core::time::Duration;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

use squall::clones::{self, Watch};

use crate::start::{INITIALISER, Initialiser};

/// Links the initialiser with this module.
#[used]
static LINKED_INITIALISER: &Initialiser = &INITIALISER;

/// A number that changes when this process may be running in a clone of its virtual machine, or was itself restored from
/// a checkpoint (CRIU). It is 0 if nothing on this machine distinguishes a restored snapshot from a pause: then copies go
/// unnoticed.
///
/// Compare it with earlier numbers of the same process only. Two copies may have the same number: it says that the
/// machine or the process was copied, not which copy this is. `squall_clone_signal` says how soon it changes.
///
/// A call takes some nanoseconds, with the signal "kvm-clock" about a hundred. The first in each tick of the kernel, 1 to
/// 10 milliseconds apart, reads two files in /proc. With "kernel-log", a call makes a system call during the second after
/// each reseed of the kernel's generator, and before Linux 6.11 always. Any thread and signal handlers may call it. A forked
/// child begins with its parent's number; with "kernel-log", that changes once more at the kernel's next reseed.
#[unsafe(no_mangle)]
pub extern "C" fn squall_clone_generation() -> u64 {
    clones::generation().map_or(0, core::num::NonZeroU64::get)
}

/// The name of the signal that `squall_clone_generation` follows: "kvm-clock", "vmclock" or "vmgenid-page", which change
/// before a clone runs, "kernel-log", where the kernel's message about vmgenid comes milliseconds after the clone begins to
/// run, or "process", where this is no virtual machine and only the process may be restored. Null if this process cannot
/// notice clones.
///
/// The string never changes and is never freed.
#[unsafe(no_mangle)]
pub extern "C" fn squall_clone_signal() -> *const c_char {
    clones::signal().map_or(ptr::null(), |signal| signal.c_name().as_ptr())
}

/// Waits for clones of the virtual machine, and for restores of the process.
///
/// Only one thread at a time may use a watch. A forked child must not use its parent's, but can make its own.
#[allow(non_camel_case_types)]
pub struct squall_clone_watch(Watch);

/// Returns a new watch, which reports clones and restores from now on. Free it with `squall_clone_watch_free`.
///
/// Returns null after an error, with the cause in errno: ENOTSUP if this process cannot notice clones. Signal handlers
/// must not call it, because it allocates memory.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn squall_clone_watch_new() -> *mut squall_clone_watch {
    match Watch::new() {
        Ok(watch) => Box::into_raw(Box::new(squall_clone_watch(watch))),
        Err(error) => {
            set_errno(&error);
            ptr::null_mut()
        }
    }
}

/// Frees a watch. `watch` may be null; it must not be used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn squall_clone_watch_free(watch: *mut squall_clone_watch) {
    if !watch.is_null() {
        // SAFETY: the header demands a watch of `squall_clone_watch_new`, which is used no longer.
        drop(unsafe { Box::from_raw(watch) });
    }
}

/// A descriptor for poll, select and epoll. It becomes readable when the machine may have been cloned or the process
/// restored, and every 0.1 seconds. Then call `squall_clone_wait` with a timeout of 0, which says which, and resets the
/// descriptor. Do not read from it, and do not close it.
///
/// Returns -1 if `watch` is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn squall_clone_fd(watch: *const squall_clone_watch) -> c_int {
    // SAFETY: null, or a watch, as the header demands.
    match unsafe { watch.as_ref() } {
        Some(watch) => watch.0.as_fd().as_raw_fd(),
        None => -1,
    }
}

/// Waits until the machine may have been cloned, or the process was restored, since the last call, or since the watch was
/// made: up to `timeout` milliseconds, or forever if that is negative.
///
/// A signal handler that runs meanwhile does not end the wait: to be interrupted, poll the descriptor of `squall_clone_fd`.
///
/// Returns 1 if so, 0 if the time has passed, and -1 after an error, with the cause in errno: EFAULT if `watch` is null.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn squall_clone_wait(
    watch: *mut squall_clone_watch,
    timeout: c_int,
) -> c_int {
    // SAFETY: null, or a watch that nobody else uses, as the header demands.
    let Some(watch) = (unsafe { watch.as_mut() }) else {
        set_errno(&io::Error::from_raw_os_error(libc::EFAULT));
        return -1;
    };
    let timeout = u64::try_from(timeout).ok().map(Duration::from_millis);
    match watch.0.wait(timeout) {
        Ok(may_be_clone) => may_be_clone.into(),
        Err(error) => {
            set_errno(&error);
            -1
        }
    }
}

fn set_errno(error: &io::Error) {
    let errno = error.raw_os_error().unwrap_or(libc::ENOTSUP);
    // SAFETY: the calling thread's own variable.
    unsafe { *libc::__errno_location() = errno };
}
