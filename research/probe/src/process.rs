//! Forked processes.
//!
//! Besides the mapping, this has the probe's only unsafe code: the fork itself.

#![allow(unsafe_code)]

use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, WaitStatus, wait, waitpid};

use crate::Result;
use crate::memory::Memory;

/// Pause between two checks of children.
const PAUSE: Duration = Duration::from_millis(10);

/// Forks a process that does `work` and ends. The caller must have only one thread.
pub fn fork(work: impl FnOnce()) -> Result<Pid> {
    // SAFETY: the process has one thread, so no other thread's half-finished change is copied to the
    // child.
    let child = unsafe { libc::fork() };
    match child {
        0 => {
            work();
            std::process::exit(0)
        }
        child => Pid::from_raw(child.max(0))
            .ok_or_else(|| format!("fork: {}", std::io::Error::last_os_error())),
    }
}

/// Does `work` in a child and waits for its end.
pub fn run(work: impl FnOnce()) -> Result<()> {
    let child = fork(work)?;
    match waitpid(Some(child), WaitOptions::empty()) {
        Ok(Some((child, status))) => check(child, status),
        Ok(None) => Ok(()),
        Err(error) => Err(format!("waitpid: {error}")),
    }
}

/// Fails if a child has failed.
pub fn check_children() -> Result<()> {
    match wait(WaitOptions::NOHANG) {
        Ok(Some((child, status))) => check(child, status),
        Ok(None) | Err(Errno::CHILD) => Ok(()),
        Err(error) => Err(format!("wait: {error}")),
    }
}

/// Waits for the lab, and then until it wants no more records. Fails if a program that draws ends
/// before.
pub fn watch(memory: Memory) -> Result<()> {
    memory.wait_for_run();
    while memory.is_running() {
        check_children()?;
        std::thread::sleep(PAUSE);
    }
    Ok(())
}

fn check(child: Pid, status: WaitStatus) -> Result<()> {
    match status.exit_status() {
        Some(0) => Ok(()),
        _ => Err(format!("child {child} failed: {status:?}")),
    }
}
