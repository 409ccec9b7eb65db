//! Ends QEMU with the lab, however the lab ends.

#![allow(unsafe_code)]

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Has the kernel kill the process of `command` when the thread that starts it ends. This is in
/// force before QEMU is; asked for the same, QEMU comes to it a while after its start.
pub fn end_with_us(command: &mut Command) {
    let lab = std::process::id();
    let ask = move || {
        // SAFETY: this takes numbers only.
        if unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } == -1 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: this always succeeds.
        let parent = unsafe { libc::getppid() };
        if u32::try_from(parent) == Ok(lab) {
            Ok(())
        } else {
            Err(io::ErrorKind::BrokenPipe.into())
        }
    };
    // SAFETY: it is called between fork and exec, makes system calls, and allocates nothing.
    unsafe { command.pre_exec(ask) };
}
