//! Whether the CPU's cycle counter may be read: where a thread has switched it off, the instruction that
//! reads it ends the process (PR_SET_TSC(2const)).
//!
//! The kernel is asked once, in the process's first draw. It is not asked again in a forked child, which
//! may draw in a sandbox that ends whoever calls prctl.

use core::sync::atomic::{AtomicU8, Ordering};

static ANSWER: AtomicU8 = AtomicU8::new(UNKNOWN);
const UNKNOWN: u8 = 0;
const ALLOWED: u8 = 1;
const AVOIDED: u8 = 2;

/// Whether the counter may be read. The first call asks the kernel.
#[inline]
pub(crate) fn may_be_read() -> bool {
    match ANSWER.load(Ordering::Relaxed) {
        UNKNOWN => ask(),
        answer => answer == ALLOWED,
    }
}

/// Never reads the counter again.
pub(crate) fn avoid() {
    ANSWER.store(AVOIDED, Ordering::Relaxed);
}

#[cold]
fn ask() -> bool {
    let answer = if is_switched_off() { AVOIDED } else { ALLOWED };
    let _ = ANSWER.compare_exchange(UNKNOWN, answer, Ordering::Relaxed, Ordering::Relaxed);
    ANSWER.load(Ordering::Relaxed) == ALLOWED
}

/// Only x86 has the switch.
#[cfg(target_arch = "x86_64")]
fn is_switched_off() -> bool {
    let mut mode = 0;
    // SAFETY: `mode` is writable. A system call of its own, because the preload library replaces prctl.
    unsafe { libc::syscall(libc::SYS_prctl, libc::PR_GET_TSC, &raw mut mode, 0, 0, 0) };
    mode == libc::PR_TSC_SIGSEGV
}

#[cfg(not(target_arch = "x86_64"))]
fn is_switched_off() -> bool {
    false
}
