//! Processes that lose the cycle counter by strict seccomp, which disables it.

use crate::Verdict;
use crate::outputs::{exit_status_of, fork};

/// More than a buffer holds, without a system call.
fn draws_differ() -> bool {
    let draws: [[u8; 16]; 300] = core::array::from_fn(|_| squall::array());
    draws.windows(2).all(|pair| pair[0] != pair[1])
}

/// How a child ends that draws after `prepare`. It exits by the one call that strict seccomp allows.
fn draw_in_child(prepare: impl FnOnce()) -> Verdict {
    let child = fork(|| {
        // SAFETY: without the standard library's handler, whose system calls are not allowed.
        unsafe { libc::signal(libc::SIGSEGV, libc::SIG_DFL) };
        prepare();
        let status = libc::c_int::from(!draws_differ());
        // SAFETY: ends the process, which has one thread.
        unsafe { libc::syscall(libc::SYS_exit, status) };
    });
    match exit_status_of(child) {
        0 => Verdict::Held,
        libc::SIGSEGV => Verdict::Broken("SIGSEGV".to_owned()),
        status => panic!("status {status:#x}"),
    }
}

fn enter_strict_seccomp() {
    // SAFETY: restricts the process's later system calls.
    let status = unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_STRICT) };
    assert_eq!(status, 0);
}

pub fn strict_seccomp() -> Verdict {
    draw_in_child(|| {
        squall::hazmat::avoid_cycle_counter();
        squall::status();
        enter_strict_seccomp();
    })
}

/// The control: draws before strict seccomp do not suffice.
pub fn strict_seccomp_after_draws() -> Verdict {
    draw_in_child(|| {
        squall::status();
        enter_strict_seccomp();
    })
}
