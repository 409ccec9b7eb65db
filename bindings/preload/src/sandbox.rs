//! Notices when the program enters a sandbox of seccomp(2).
//!
//! A sandbox's filter allows what the program does, and may end it for anything else. Squall's first
//! draw in a thread maps memory, and a seeding asks for the process id. So once the program has entered
//! a sandbox, the kernel serves all requests, and no descriptor is checked (see [`crate::device`]): the
//! program makes the same system calls as without this library. This library notices prctl(2), and seccomp(2)
//! through `syscall` ([`crate::syscall`]), as libseccomp calls it. A sandbox from before the program's
//! start also holds for squall.
//!
//! The same holds for a program that switches off the cycle counter (`PR_SET_TSC` of prctl(2)) or CPUID
//! (`ARCH_SET_CPUID` of arch_prctl(2)), which squall reads and the kernel's calls do not.

use core::ffi::{c_int, c_long, c_ulong};
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::{agreement, real};

/// How many calls have entered a sandbox or are about to. Children of vfork(2) share this: after them
/// the kernel serves their parent too.
static ENTERED: AtomicUsize = AtomicUsize::new(0);

/// Whether the program has entered a sandbox, or is about to.
pub(crate) fn is_entered() -> bool {
    ENTERED.load(Ordering::SeqCst) != 0
}

/// prctl(2).
///
/// It is variadic in C. With the calling conventions of Linux on x86-64 (System V) and AArch64
/// (AAPCS64), variable integer arguments are passed like named ones. Missing arguments are passed on
/// with whatever value is there.
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
    let call = || unsafe {
        match real::PRCTL.get() {
            Some(prctl) => prctl(option, second, third, fourth, fifth).into(),
            None => libc::syscall(libc::SYS_prctl, option, second, third, fourth, fifth),
        }
    };
    let result = if enters_sandbox(option, second) {
        enter(call, |result| result >= 0)
    } else {
        call()
    };
    result as c_int
}

/// Whether prctl(2) with these arguments enters a sandbox or switches off the cycle counter. The kernel uses 32 bits of each.
pub(crate) fn enters_sandbox(option: c_int, second: c_ulong) -> bool {
    match option {
        libc::PR_SET_SECCOMP => true,
        libc::PR_SET_TSC => second as c_int == libc::PR_TSC_SIGSEGV,
        _ => false,
    }
}

/// Makes a call that may enter a sandbox; `has_entered` decides by the result whether it did.
pub(crate) fn enter(
    call: impl FnOnce() -> c_long,
    has_entered: impl FnOnce(c_long) -> bool,
) -> c_long {
    // Count before the call, because the filter may also hold for other threads. This does not wait
    // for a thread that is drawing or checking a descriptor at this moment.
    ENTERED.fetch_add(1, Ordering::SeqCst);
    agreement::clear_accepted();
    let result = call();
    if !has_entered(result) {
        ENTERED.fetch_sub(1, Ordering::SeqCst);
    }
    result
}
