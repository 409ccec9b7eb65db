//! Inherited state that Rust's runtime changes before `main`. The runtime ignores SIGPIPE, but resets
//! it to the default in child processes. It opens /dev/null on those of the descriptors 0 to 2 that
//! are closed.
//!
//! Both are recorded before the runtime starts: to detect output that would be lost, and to restore
//! them for a program that is executed.

#![allow(unsafe_code)]

use std::io;
use std::mem::MaybeUninit;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

static IGNORES_PIPE: AtomicBool = AtomicBool::new(false);

/// Whether each of the descriptors 0 to 2 was closed.
static IS_CLOSED: [AtomicBool; 3] = [const { AtomicBool::new(false) }; 3];

/// The C library calls the functions in this section before `main` (System V ABI, "Initialization and
/// Termination Functions").
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = note;

extern "C" fn note() {
    IGNORES_PIPE.store(is_ignored(libc::SIGPIPE), Ordering::Relaxed);
    for (number, is_closed) in (0..).zip(&IS_CLOSED) {
        // SAFETY: F_GETFD only asks about a number, which need not be an open descriptor.
        let flags = unsafe { libc::fcntl(number, libc::F_GETFD) };
        is_closed.store(flags == -1, Ordering::Relaxed);
    }
}

/// Whether this process ignores `signal` now. What nohup(1) or a shell has made it ignore must stay ignored.
pub(crate) fn is_ignored(signal: i32) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: no action is set; the present one fills `action`, for which zeros are a valid value.
    let handler = unsafe {
        libc::sigaction(signal, ptr::null(), action.as_mut_ptr());
        action.assume_init().sa_sigaction
    };
    handler == libc::SIG_IGN
}

pub(crate) fn has_no_stdout() -> bool {
    IS_CLOSED[libc::STDOUT_FILENO as usize].load(Ordering::Relaxed)
}

/// Executes `command` with the recorded state restored; returns only if that fails.
pub fn exec(command: &mut Command) -> io::Error {
    // SAFETY: `give_back` only makes system calls. Nothing in this process uses the descriptors that
    // it closes: they are the runtime's /dev/null.
    unsafe { command.pre_exec(give_back) }.exec()
}

fn give_back() -> io::Result<()> {
    if IGNORES_PIPE.load(Ordering::Relaxed) {
        // SAFETY: ignores a signal.
        unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
    }
    for (number, is_closed) in (0..).zip(&IS_CLOSED) {
        if is_closed.load(Ordering::Relaxed) {
            // SAFETY: see `exec`.
            unsafe { libc::close(number) };
        }
    }
    Ok(())
}
