//! Identifies the process: the fork guard for memory that a fork copies.
//!
//! The process id alone can be reused by a grandchild; the count of forks that `pthread_atfork`
//! sees cannot, but misses a raw clone(2). Together they miss only a raw clone whose child gets
//! its grandparent's old id.

use core::ffi::CStr;
use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};
use std::io;

use super::memory::{self, MemoryKind};
use crate::failpoint::{self, Failpoint};

static FORKS: AtomicU32 = AtomicU32::new(0);

/// Has `before` called before each fork that the C library makes from now on, and `in_child` in the child; both must be
/// async-signal-safe, and `in_child` must call [`count_one`]. Two threads that begin at once have them called twice, which is
/// harmless.
///
/// # Errors
/// There is no memory for it.
pub(crate) fn watch(before: extern "C" fn(), in_child: extern "C" fn()) -> io::Result<()> {
    static IS_WATCHING: AtomicBool = AtomicBool::new(false);
    if IS_WATCHING.load(Ordering::Relaxed) {
        return Ok(());
    }
    // SAFETY: the handlers are async-signal-safe, and live as long as the program or library that registers them.
    match unsafe { libc::pthread_atfork(Some(before), None, Some(in_child)) } {
        0 => {
            IS_WATCHING.store(true, Ordering::Relaxed);
            Ok(())
        }
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// Counts a fork, in the child.
pub(crate) fn count_one() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// The forks since `watch` that led to this process. A raw clone(2) is not counted.
#[inline]
pub fn count() -> u32 {
    FORKS.load(Ordering::Relaxed)
}

/// A number that differs between a process and its forked children where nothing else tells them apart.
///
/// Forks are counted everywhere: a process that an old CRIU has restored lost the kernel's wipe on fork. The process id is
/// part of the number only where memory is never wiped, because asking for it is a system call.
pub(crate) fn mark() -> u64 {
    match memory::kind() {
        MemoryKind::Plain if !is_gvisor() => process(),
        _ => u64::from(count()) << 32,
    }
}

/// Whether gVisor serves system calls, by what it says of its kernel (uname(2)). Asking it for the process id takes ten
/// microseconds, and its children by raw clone(2) are told apart by their pads alone.
pub(crate) fn is_gvisor() -> bool {
    const UNKNOWN: u8 = 0;
    const YES: u8 = 1;
    const NO: u8 = 2;
    static ANSWER: AtomicU8 = AtomicU8::new(UNKNOWN);
    match ANSWER.load(Ordering::Relaxed) {
        UNKNOWN => {
            let is_gvisor = names_gvisor();
            ANSWER.store(if is_gvisor { YES } else { NO }, Ordering::Relaxed);
            is_gvisor
        }
        answer => answer == YES,
    }
}

fn names_gvisor() -> bool {
    const RELEASE: &CStr = c"4.4.0";
    const VERSION: &CStr = c"#1 SMP Sun Jan 10 15:06:54 PST 2016";
    // SAFETY: zeros are a valid value, and the structure is writable.
    let name = unsafe {
        let mut name: libc::utsname = core::mem::zeroed();
        libc::uname(&mut name);
        name
    };
    // SAFETY: the kernel ends its texts with a null byte.
    let is = |text: &[core::ffi::c_char], name| unsafe { CStr::from_ptr(text.as_ptr()) } == name;
    is(&name.release, RELEASE) && is(&name.version, VERSION)
}

/// A number that differs between a process and its forked children.
pub(crate) fn process() -> u64 {
    if failpoint::is_active(Failpoint::SkipForkGuard) {
        return 0;
    }
    // SAFETY: getpid has no preconditions. A raw call, because old C libraries cached it.
    let pid = unsafe { libc::syscall(libc::SYS_getpid) } as u64;
    (u64::from(count()) << 32) | pid
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fork_counts_once_whoever_watches() {
        extern "C" fn nothing() {}
        extern "C" fn count_in_child() {
            count_one();
        }
        crate::fill(&mut [0; 16]);
        for _ in 0..2 {
            watch(nothing, count_in_child).expect("there is memory");
        }
        let before = count();
        // SAFETY: the child makes no call but that which ends it.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            let forks = count() - before;
            // SAFETY: ends the child.
            unsafe { libc::_exit(forks as i32) };
        }
        let mut status = 0;
        // SAFETY: the status is writable.
        assert_eq!(unsafe { libc::waitpid(pid, &mut status, 0) }, pid);
        assert!(libc::WIFEXITED(status));
        assert_eq!(libc::WEXITSTATUS(status), 1);
    }
}
