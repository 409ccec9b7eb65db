//! fork(2), which has no safe wrapper.

use std::io;

use rustix::process::{Pid, WaitOptions, WaitStatus, waitpid};

/// A forked child, which must be waited for.
#[derive(Debug)]
pub struct Forked(Pid);

/// Forks. The child runs `child` and exits at once, successfully if that returns true.
///
/// If the process has several threads, `child` must not take a lock that another thread may hold.
pub fn fork(child: impl FnOnce() -> bool) -> io::Result<Forked> {
    // SAFETY: the child runs only `child` and leaves by _exit, which runs no code of the program. The
    // documentation tells callers what `child` may do in a process with several threads.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            let code = i32::from(!child());
            // SAFETY: _exit has no preconditions.
            unsafe { libc::_exit(code) }
        }
        pid => Pid::from_raw(pid)
            .map(Forked)
            .ok_or_else(|| io::Error::other("no child")),
    }
}

impl Forked {
    /// Waits for the child to exit; fails if it did not exit successfully.
    pub fn wait(self) -> io::Result<()> {
        loop {
            match waitpid(Some(self.0), WaitOptions::empty()) {
                Ok(Some((_, status))) if status.exit_status() == Some(0) => return Ok(()),
                Ok(Some((_, status))) => return Err(ended(status)),
                Ok(None) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

fn ended(status: WaitStatus) -> io::Error {
    io::Error::other(match status.terminating_signal() {
        Some(signal) => format!("a forked child was ended by signal {signal}"),
        None => "a forked child failed".into(),
    })
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    #[test]
    fn the_child_does_it() {
        let (mut reader, mut writer) = io::pipe().expect("a pipe");
        let forked = fork(|| writer.write_all(b"x").is_ok()).expect("a child");
        forked.wait().expect("it succeeds");
        drop(writer);
        let mut written = Vec::new();
        reader.read_to_end(&mut written).expect("the pipe is open");
        assert_eq!(written, b"x");
    }

    #[test]
    fn a_child_that_fails_is_a_failure() {
        assert!(fork(|| false).expect("a child").wait().is_err());
        // SAFETY: _exit has no preconditions.
        let exits = fork(|| unsafe { libc::_exit(3) }).expect("a child");
        assert!(exits.wait().is_err());
    }
}
