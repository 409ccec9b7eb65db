//! Makes QEMU end when the lab ends, even if the lab is killed.

#![allow(unsafe_code)]

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Makes the kernel kill the process of `command` when the thread that starts it ends. This takes
/// effect before QEMU runs; QEMU's own option for it takes effect only some time after its start.
pub fn kill_with_parent(command: &mut Command) {
    let lab = std::process::id();
    let set_death_signal = move || {
        // SAFETY: the call takes only numbers.
        if unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } == -1 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the call has no arguments and always succeeds.
        let parent = unsafe { libc::getppid() };
        if u32::try_from(parent) == Ok(lab) {
            Ok(())
        } else {
            Err(io::ErrorKind::BrokenPipe.into())
        }
    };
    // SAFETY: between fork and exec, `set_death_signal` only makes system calls, and allocates nothing.
    unsafe { command.pre_exec(set_death_signal) };
}
