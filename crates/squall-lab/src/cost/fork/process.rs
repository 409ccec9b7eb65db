//! fork(2), which has no safe interface.

#![allow(unsafe_code)]

use std::io;

/// Forks; the child does `child` and exits; returns when it has.
///
/// This is for processes with a single thread. With more, `child` is to do nothing that is not
/// safe in a signal handler.
pub fn fork_and_wait(child: impl FnOnce()) -> io::Result<()> {
    // SAFETY: whatever other threads hold, the child does without: squall's requests are safe in
    // a signal handler and after a fork, and _exit runs nothing of the program.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            child();
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

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    #[test]
    fn the_child_does_it() {
        let (mut reader, mut writer) = io::pipe().expect("a pipe");
        fork_and_wait(|| writer.write_all(b"x").expect("the pipe is open")).expect("a child");
        drop(writer);
        let mut written = Vec::new();
        reader.read_to_end(&mut written).expect("the pipe is open");
        assert_eq!(written, b"x");
    }

    #[test]
    fn a_child_that_fails_is_a_failure() {
        // SAFETY: _exit has no preconditions.
        let ended = fork_and_wait(|| unsafe { libc::_exit(3) });
        assert!(ended.is_err());
    }
}
