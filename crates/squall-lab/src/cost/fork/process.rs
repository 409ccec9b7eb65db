//! fork(2), which has no safe interface.

#![allow(unsafe_code)]

use std::io;

/// Forks; the child draws 32 bytes if it `draws`, and exits; returns when it has.
pub fn fork_and_wait(draws: bool) -> io::Result<()> {
    // SAFETY: whatever other threads hold, the child does without: squall's requests are safe in
    // a signal handler and after a fork, and _exit runs nothing of the program.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            if draws {
                squall::fill(&mut [0; 32]);
            }
            // SAFETY: _exit has no preconditions.
            unsafe { libc::_exit(0) }
        }
        child => wait(child),
    }
}

fn wait(child: libc::pid_t) -> io::Result<()> {
    loop {
        let mut status = 0;
        // SAFETY: `status` is writable.
        if unsafe { libc::waitpid(child, &mut status, 0) } != -1 {
            return match status {
                0 => Ok(()),
                _ => Err(io::Error::other(format!(
                    "a child ended with status {status}"
                ))),
            };
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}
