//! What a program is given by who starts it, and Rust's runtime changes before `main`: an ignored
//! SIGPIPE, which it ignores for itself and lets nobody inherit, and those of the descriptors 0 to 2 that
//! are closed, which it opens on /dev/null.
//!
//! Both are noted before the runtime begins: for output that would go nowhere, and for a program that
//! is executed, which gets them back.

#![allow(unsafe_code)]

use std::io;
use std::mem::MaybeUninit;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

static IGNORES_PIPE: AtomicBool = AtomicBool::new(false);

/// By number.
static IS_CLOSED: [AtomicBool; 3] = [const { AtomicBool::new(false) }; 3];

/// The C library calls what this section lists before `main` (System V ABI, "Initialization and
/// Termination Functions").
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = note;

extern "C" fn note() {
    let mut before = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: nothing is set; what is written is as long as `before`, and zeros are a value of it.
    let handler = unsafe {
        libc::sigaction(libc::SIGPIPE, ptr::null(), before.as_mut_ptr());
        before.assume_init().sa_sigaction
    };
    IGNORES_PIPE.store(handler == libc::SIG_IGN, Ordering::Relaxed);
    for (number, is_closed) in (0..).zip(&IS_CLOSED) {
        // SAFETY: asks about a number, whatever it stands for.
        let flags = unsafe { libc::fcntl(number, libc::F_GETFD) };
        is_closed.store(flags == -1, Ordering::Relaxed);
    }
}

pub(crate) fn has_no_stdout() -> bool {
    IS_CLOSED[libc::STDOUT_FILENO as usize].load(Ordering::Relaxed)
}

/// Becomes the program of `command`, with what was noted; comes back only if that cannot be done.
pub fn exec(command: &mut Command) -> io::Error {
    // SAFETY: makes system calls alone. Nobody in this process uses what is closed: it is the runtime's
    // /dev/null.
    unsafe { command.pre_exec(give_back) }.exec()
}

fn give_back() -> io::Result<()> {
    if IGNORES_PIPE.load(Ordering::Relaxed) {
        // SAFETY: ignores a signal.
        unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
    }
    for (number, is_closed) in (0..).zip(&IS_CLOSED) {
        if is_closed.load(Ordering::Relaxed) {
            // SAFETY: as `exec` says.
            unsafe { libc::close(number) };
        }
    }
    Ok(())
}
