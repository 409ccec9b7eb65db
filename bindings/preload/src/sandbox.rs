//! Sandboxes of seccomp(2) that the program enters itself.
//!
//! Their filter allows what the program does, and may end it for anything else: squall's first draw in
//! a thread maps memory, and a seeding asks for the process's number. So once one is entered, all
//! requests are the kernel's, and no descriptor is looked at (see [`crate::device`]): the program makes
//! the system calls that it would make without this library. prctl(2) is seen, and seccomp(2) by way of
//! `syscall` ([`crate::syscall`]), as libseccomp makes it. One that was entered before the program was
//! started holds for squall too.

use core::ffi::{c_int, c_long, c_ulong};
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::{gate, real};

/// Calls that have entered one, or are under way. Shared with children of vfork(2): their parent is
/// then served by the kernel too.
static ENTERED: AtomicUsize = AtomicUsize::new(0);

/// Whether the program has entered one.
pub(crate) fn is_entered() -> bool {
    ENTERED.load(Ordering::SeqCst) != 0
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
    let call = || unsafe {
        match real::PRCTL.get() {
            Some(prctl) => prctl(option, second, third, fourth, fifth).into(),
            None => libc::syscall(libc::SYS_prctl, option, second, third, fourth, fifth),
        }
    };
    let result = if is_entered_by(option) {
        enter(call, |result| result >= 0)
    } else {
        call()
    };
    result as c_int
}

/// Whether prctl(2) with this option enters one.
pub(crate) fn is_entered_by(option: c_int) -> bool {
    option == libc::PR_SET_SECCOMP
}

/// Makes a call that is to enter one, and has if `has_entered` says so of what it returned.
pub(crate) fn enter(
    call: impl FnOnce() -> c_long,
    has_entered: impl FnOnce(c_long) -> bool,
) -> c_long {
    // Before: the filter may hold for other threads too. One that is drawing, or looking at a
    // descriptor, at this very moment is not waited for.
    ENTERED.fetch_add(1, Ordering::SeqCst);
    gate::forget();
    let result = call();
    if !has_entered(result) {
        ENTERED.fetch_sub(1, Ordering::SeqCst);
    }
    result
}
