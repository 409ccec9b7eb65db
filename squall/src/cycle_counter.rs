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

/// Reads the counter, which [may be read](may_be_read): the time-stamp counter of x86, the virtual counter of ARM, the clock
/// on other CPUs.
#[inline]
pub(crate) fn read() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: RDTSC exists on every x86-64 CPU; Linux lets processes use it unless they asked
    // for the opposite by prctl(PR_SET_TSC).
    return unsafe { core::arch::x86_64::_rdtsc() };
    #[cfg(target_arch = "aarch64")]
    {
        let count: u64;
        // SAFETY: Linux lets processes read the virtual counter.
        unsafe { core::arch::asm!("mrs {}, cntvct_el0", out(reg) count, options(nomem, nostack)) };
        count
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        let mut now = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: `now` is writable.
        unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
        (now.tv_sec as u64)
            .wrapping_mul(1_000_000_000)
            .wrapping_add(now.tv_nsec as u64)
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
