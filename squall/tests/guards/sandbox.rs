//! Sandboxes that refuse getrandom(2), and those that refuse everything.

use std::collections::BTreeMap;
use std::io::PipeWriter;
use std::os::fd::AsRawFd;
use std::time::Duration;

use seccompiler::{SeccompAction, SeccompFilter, TargetArch};
use squall::Error;

use crate::Verdict;
use crate::outputs::{exit_status_of, fork, judge};

/// Makes these system calls fail with `errno` from now on.
fn refuse(calls: &[libc::c_long], errno: i32) {
    let rules: BTreeMap<_, _> = calls.iter().map(|&call| (call, Vec::new())).collect();
    let arch: TargetArch = std::env::consts::ARCH.try_into().unwrap();
    let refused = SeccompAction::Errno(errno as u32);
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refused, arch).unwrap();
    let program: seccompiler::BpfProgram = filter.try_into().unwrap();
    seccompiler::apply_filter(&program).unwrap();
}

fn draws() -> Verdict {
    let mut draws = vec![squall::array(), squall::array()];
    let mut fresh = [0; 16];
    squall::fill_fresh(&mut fresh);
    draws.push(fresh);
    let mut long = vec![0; 100_000];
    squall::fill(&mut long);
    draws.extend_from_slice(long.as_chunks().0);
    judge(draws)
}

pub fn getrandom_enosys() -> Verdict {
    refuse(&[libc::SYS_getrandom], libc::ENOSYS);
    draws()
}

pub fn getrandom_eperm() -> Verdict {
    refuse(&[libc::SYS_getrandom], libc::EPERM);
    draws()
}

/// The sandbox comes after the first draws, and new threads after the sandbox.
pub fn refused_later() -> Verdict {
    squall::u32();
    refuse(&[libc::SYS_getrandom], libc::EPERM);
    match draws() {
        Verdict::Held => std::thread::spawn(draws).join().unwrap(),
        broken => broken,
    }
}

fn refuse_everything() {
    let calls = [
        libc::SYS_getrandom,
        libc::SYS_openat,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_open,
    ];
    refuse(&calls, libc::EACCES);
}

pub fn no_source() -> Verdict {
    refuse_everything();
    let expected = Error::NoEntropy {
        getrandom: libc::EACCES,
        urandom: libc::EACCES,
    };
    for len in [1, 16, 1000] {
        match squall::try_fill(&mut vec![0; len]) {
            Err(error) if error == expected => {}
            other => return Verdict::Broken(format!("{len} bytes: {other:?}")),
        }
    }
    Verdict::Held
}

/// Without getrandom(2), no request is served before the kernel's RNG is known to be ready.
pub fn not_known_to_be_ready() -> Verdict {
    refuse(&[libc::SYS_getrandom, libc::SYS_ppoll], libc::EACCES);
    let expected = Error::NoEntropy {
        getrandom: libc::EACCES,
        urandom: libc::EACCES,
    };
    match squall::try_fill_fresh(&mut [0; 16]) {
        Err(error) if error == expected => Verdict::Held,
        other => Verdict::Broken(format!("{other:?}")),
    }
}

/// `fill` cannot return an error: it aborts the program with a message.
pub fn no_source_aborts() -> Verdict {
    let (mut reader, writer) = std::io::pipe().unwrap();
    let pid = fork(|| {
        put_at_stderr(&writer);
        refuse_everything();
        squall::fill(&mut [0; 16]);
    });
    drop(writer);
    let mut message = String::new();
    std::io::Read::read_to_string(&mut reader, &mut message).unwrap();
    judge_abort(exit_status_of(pid), &message)
}

/// The abort also works in a child forked while another thread held the lock of Rust's standard
/// error, which nobody in the child releases.
pub fn no_source_aborts_with_stderr_locked() -> Verdict {
    ends_with_stderr_locked(|| {
        refuse_everything();
        squall::fill(&mut [0; 16]);
    })
}

/// The control: a message that takes the lock.
pub fn eprintln_with_stderr_locked() -> Verdict {
    ends_with_stderr_locked(|| {
        eprintln!("no source of randomness");
        std::process::abort();
    })
}

fn ends_with_stderr_locked(draw: fn()) -> Verdict {
    let (locked, is_locked) = std::sync::mpsc::channel();
    let (unlock, may_unlock) = std::sync::mpsc::channel::<()>();
    let holder = std::thread::spawn(move || {
        let _lock = std::io::stderr().lock();
        locked.send(()).unwrap();
        let _ = may_unlock.recv();
    });
    is_locked.recv().unwrap();
    let (mut reader, writer) = std::io::pipe().unwrap();
    let pid = fork(|| {
        put_at_stderr(&writer);
        draw();
    });
    drop(writer);
    let ended = end_or_futex(pid);
    drop(unlock);
    holder.join().unwrap();
    let Some(status) = ended else {
        return Verdict::Broken("the child waits for a lock that nobody holds".to_owned());
    };
    let mut message = String::new();
    std::io::Read::read_to_string(&mut reader, &mut message).unwrap();
    judge_abort(status, &message)
}

/// The exit status of a child; `None` if it waits for a futex, which nobody will ever wake, as the child
/// has only one thread.
fn end_or_futex(pid: libc::pid_t) -> Option<libc::c_int> {
    let is_stuck = || {
        let call = call_of(pid).expect("the case needs that it can be read");
        call.split(' ').next() == Some(&libc::SYS_futex.to_string())
    };
    loop {
        let mut status = 0;
        // SAFETY: `status` is writable.
        match unsafe { libc::waitpid(pid, &mut status, libc::WNOHANG) } {
            0 if is_stuck() => {
                // SAFETY: a child of ours, which is waited for.
                unsafe { libc::kill(pid, libc::SIGKILL) };
                exit_status_of(pid);
                return None;
            }
            0 => std::thread::sleep(Duration::from_millis(1)),
            _ => return Some(status),
        }
    }
}

/// The system call in which a process is, with its arguments (proc_pid_syscall(5)).
fn call_of(pid: libc::pid_t) -> std::io::Result<String> {
    std::fs::read_to_string(format!("/proc/{pid}/syscall"))
}

/// Whether the kernel shows in which system call a child is: Yama may forbid it.
pub fn can_see_calls() -> bool {
    let child = fork(|| {
        // SAFETY: pause has no preconditions.
        unsafe { libc::pause() };
    });
    let can_see = call_of(child).is_ok();
    // SAFETY: a child of ours, which is waited for.
    unsafe { libc::kill(child, libc::SIGKILL) };
    exit_status_of(child);
    can_see
}

fn put_at_stderr(pipe: &PipeWriter) {
    // SAFETY: replaces the process's own standard error.
    unsafe { libc::dup2(pipe.as_raw_fd(), libc::STDERR_FILENO) };
}

fn judge_abort(status: libc::c_int, message: &str) -> Verdict {
    let aborted = libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGABRT;
    if aborted && message.contains("no source of randomness") && message.lines().count() == 1 {
        Verdict::Held
    } else {
        Verdict::Broken(format!("status {status:#x}, message {message:?}"))
    }
}
