//! Sandboxes of seccomp(2) that the program enters itself.
//!
//! Their filter allows what the program does, and may end it for anything else. So before one is
//! entered squall decides what it decides once a process, and afterwards no descriptor is looked at
//! (see [`crate::device`]): the kernel reads those that were not looked at before, devices too.
//! prctl(2) is seen, and seccomp(2) by way of `syscall` ([`crate::syscall`]), as libseccomp makes it.
//! What was entered before the program was started has let it be loaded, which takes more than what
//! is done here.

use core::ffi::{c_int, c_long, c_ulong};
use core::sync::atomic::{AtomicBool, Ordering};

use crate::{gate, real};

/// Shared with children of vfork(2): in their parent, devices then cost what they cost the kernel.
static IS_ENTERED: AtomicBool = AtomicBool::new(false);

/// Whether the program has entered one.
pub(crate) fn is_entered() -> bool {
    IS_ENTERED.load(Ordering::Relaxed)
}

/// prctl(2).
///
/// It is variadic in C. On the calling conventions of x86-64 (System V) and AArch64 (AAPCS64),
/// which Linux has, integers that are variable arguments are where named ones are; those that were
/// not given are whatever is there, and handed on.
///
/// # Safety
/// As prctl(2).
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn prctl(
    option: c_int,
    second: c_ulong,
    third: c_ulong,
    fourth: c_ulong,
    fifth: c_ulong,
) -> c_int {
    // SAFETY: the caller's promise.
    let result = enter(is_entered_by(option), || unsafe {
        match real::PRCTL.get() {
            Some(prctl) => prctl(option, second, third, fourth, fifth).into(),
            None => libc::syscall(libc::SYS_prctl, option, second, third, fourth, fifth),
        }
    });
    result as c_int
}

/// Whether prctl(2) with this option enters one.
pub(crate) fn is_entered_by(option: c_int) -> bool {
    option == libc::PR_SET_SECCOMP
}

/// Makes a call that perhaps `enters` one; what it returns is negative if it has not.
#[inline(always)]
pub(crate) fn enter(enters: bool, call: impl FnOnce() -> c_long) -> c_long {
    if enters {
        // Asks and decides.
        gate::is_ready();
    }
    let result = call();
    if enters && result >= 0 {
        IS_ENTERED.store(true, Ordering::Relaxed);
    }
    result
}
