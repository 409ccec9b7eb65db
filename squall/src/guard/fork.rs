//! Identifies the process: the fork guard for memory that a fork copies.
//!
//! The process id alone can be reused by a grandchild; the count of forks that `pthread_atfork`
//! sees cannot, but misses a raw clone(2). Together they miss only a raw clone whose child gets
//! its grandparent's old id.

use core::sync::atomic::{AtomicU32, Ordering};

use crate::failpoint::{self, Failpoint};

static FORKS: AtomicU32 = AtomicU32::new(0);

/// Starts to count forks. A second call counts each fork twice, which is harmless.
pub(super) fn watch() {
    extern "C" fn in_child() {
        FORKS.fetch_add(1, Ordering::Relaxed);
    }
    // SAFETY: the handler is async-signal-safe: it adds to an atomic.
    unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
}

/// A number that differs between a process and its forked children.
pub(crate) fn process() -> u64 {
    if failpoint::is_active(Failpoint::SkipForkGuard) {
        return 0;
    }
    // SAFETY: getpid has no preconditions. A raw call, because old C libraries cached it.
    let pid = unsafe { libc::syscall(libc::SYS_getpid) } as u64;
    (u64::from(FORKS.load(Ordering::Relaxed)) << 32) | pid
}
