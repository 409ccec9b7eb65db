//! The number of forks that led to this process: what a parent draws from must not be used in its child.
//!
//! The library's own generators notice forks by themselves. A child by a raw clone(2) is not counted.

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::io;

static COUNT: AtomicU32 = AtomicU32::new(0);

/// Starts to count. A second handler would count each fork twice, which is harmless.
pub fn watch() -> io::Result<()> {
    static WATCHES: AtomicBool = AtomicBool::new(false);
    extern "C" fn in_child() {
        COUNT.fetch_add(1, Ordering::Relaxed);
    }
    if WATCHES.load(Ordering::Relaxed) {
        return Ok(());
    }
    // SAFETY: the handler is async-signal-safe: it adds to an atomic.
    match unsafe { libc::pthread_atfork(None, None, Some(in_child)) } {
        0 => {
            WATCHES.store(true, Ordering::Relaxed);
            Ok(())
        }
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// A number that is larger in a forked child than in its parent.
#[inline]
pub fn count() -> u32 {
    COUNT.load(Ordering::Relaxed)
}
