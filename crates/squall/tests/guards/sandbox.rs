//! Sandboxes that refuse getrandom(2), and those that refuse everything.

use std::collections::BTreeMap;

use seccompiler::{SeccompAction, SeccompFilter, TargetArch};
use squall::Error;

use crate::Verdict;
use crate::outputs::judge;

/// Makes these system calls fail with `errno` from here on.
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

/// `fill` has nothing to return: it ends the program, and says why.
pub fn no_source_aborts() -> Verdict {
    let (mut reader, writer) = std::io::pipe().unwrap();
    let pid = crate::outputs::fork(|| {
        use std::os::fd::AsRawFd;
        // SAFETY: puts the pipe in place of standard error.
        unsafe { libc::dup2(writer.as_raw_fd(), 2) };
        refuse_everything();
        squall::fill(&mut [0; 16]);
    });
    drop(writer);
    let mut message = String::new();
    std::io::Read::read_to_string(&mut reader, &mut message).unwrap();
    let mut status = 0;
    // SAFETY: `status` is writable.
    unsafe { libc::waitpid(pid, &mut status, 0) };
    let aborted = libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGABRT;
    match aborted && message.contains("no source of randomness") && message.lines().count() == 1 {
        true => Verdict::Held,
        false => Verdict::Broken(format!("status {status:#x}, message {message:?}")),
    }
}
