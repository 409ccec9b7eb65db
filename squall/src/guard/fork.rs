//! Identifies the process: the fork guard for memory that a fork copies.
//!
//! The process id alone can be reused by a grandchild; the count of forks that `pthread_atfork`
//! sees cannot, but misses a raw clone(2). Together they miss only a raw clone whose child gets
//! its grandparent's old id.

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::io;

use crate::failpoint::{self, Failpoint};

static FORKS: AtomicU32 = AtomicU32::new(0);

/// Starts to count forks. Two threads that start at once count each fork twice, which is harmless.
///
/// # Errors
/// There is no memory for it.
pub fn watch() -> io::Result<()> {
    static IS_WATCHING: AtomicBool = AtomicBool::new(false);
    extern "C" fn in_child() {
        FORKS.fetch_add(1, Ordering::Relaxed);
    }
    if IS_WATCHING.load(Ordering::Relaxed) {
        return Ok(());
    }
    // SAFETY: the handler is async-signal-safe: it adds to an atomic.
    match unsafe { libc::pthread_atfork(None, None, Some(in_child)) } {
        0 => {
            IS_WATCHING.store(true, Ordering::Relaxed);
            Ok(())
        }
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// The forks since [`watch`] that led to this process. A raw clone(2) is not counted.
#[inline]
pub fn count() -> u32 {
    FORKS.load(Ordering::Relaxed)
}

/// A number that differs between a process and its forked children.
pub(crate) fn process() -> u64 {
    if failpoint::is_active(Failpoint::SkipForkGuard) {
        return 0;
    }
    // SAFETY: getpid has no preconditions. A raw call, because old C libraries cached it.
    let pid = unsafe { libc::syscall(libc::SYS_getpid) } as u64;
    (u64::from(count()) << 32) | pid
}
