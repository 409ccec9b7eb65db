//! Outputs of a scenario, collected across processes, and the search for repeats and zeros.

use std::collections::HashSet;
use std::io::{PipeReader, PipeWriter, Read, Write, pipe};

use crate::Verdict;

/// A draw as it is compared: 128 random bits do not repeat by chance.
pub type Draw = [u8; 16];

/// Broken if a draw came twice or is all zeros.
pub fn judge(draws: impl IntoIterator<Item = Draw>) -> Verdict {
    let mut seen = HashSet::new();
    for draw in draws {
        if draw == [0; 16] {
            return Verdict::Broken(format!("a draw of zeros after {} others", seen.len()));
        }
        if !seen.insert(draw) {
            return Verdict::Broken(format!("a draw repeated after {} others", seen.len()));
        }
    }
    match seen.len() {
        0 => Verdict::Broken("nothing was drawn".to_owned()),
        _ => Verdict::Held,
    }
}

/// Writes draws to a pipe, whole: a write of up to PIPE_BUF bytes is not mixed with others.
pub fn send(mut pipe: impl Write, draws: &[Draw]) {
    pipe.write_all(draws.as_flattened())
        .expect("the parent reads");
}

/// Reads all draws until every writer is gone.
pub fn receive(mut pipe: PipeReader) -> Vec<Draw> {
    let mut bytes = Vec::new();
    pipe.read_to_end(&mut bytes).expect("the pipe is readable");
    bytes.as_chunks().0.to_vec()
}

/// Judges the draws that `act` and its children send.
pub fn judge_sent(act: impl FnOnce(&PipeWriter)) -> Verdict {
    let (reader, writer) = pipe().unwrap();
    let collector = std::thread::spawn(move || receive(reader));
    act(&writer);
    drop(writer);
    judge(collector.join().unwrap())
}

/// fork(2) by the system call: no handler of pthread_atfork runs.
///
/// # Safety
/// The child needs nothing that another thread holds.
pub unsafe fn raw_fork() -> libc::pid_t {
    // SAFETY: without other flags or a stack, clone(2) is fork(2); the caller's promise.
    unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) as libc::pid_t }
}

/// Forks; the child runs `child` and ends without destructors or exit handlers.
pub fn fork(child: impl FnOnce()) -> libc::pid_t {
    // SAFETY: the child only draws, writes to a pipe and exits.
    run_in_child(unsafe { libc::fork() }, child)
}

/// The same by [`raw_fork`].
pub fn fork_by_system_call(child: impl FnOnce()) -> libc::pid_t {
    // SAFETY: as above.
    run_in_child(unsafe { raw_fork() }, child)
}

fn run_in_child(forked: libc::pid_t, child: impl FnOnce()) -> libc::pid_t {
    match forked {
        0 => {
            child();
            // SAFETY: ends the process.
            unsafe { libc::_exit(0) }
        }
        pid => {
            assert!(pid > 0, "fork failed");
            pid
        }
    }
}

/// Waits for a child, which must end well.
pub fn wait(pid: libc::pid_t) {
    let status = exit_status_of(pid);
    assert_eq!(status, 0, "child {pid} ended with status {status:#x}");
}

/// Whether `condition` is true in a child.
pub fn is_true_in_child(condition: impl FnOnce() -> bool) -> bool {
    let child = fork(|| {
        let is_false = !condition();
        // SAFETY: ends the process.
        unsafe { libc::_exit(is_false.into()) }
    });
    match exit_status_of(child) {
        0 => true,
        status if libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 1 => false,
        status => panic!("child {child} ended with status {status:#x}"),
    }
}

/// Waits for a child, and says with which status it ended.
pub fn exit_status_of(pid: libc::pid_t) -> libc::c_int {
    let mut status = 0;
    // SAFETY: `status` is writable.
    let waited = unsafe { libc::waitpid(pid, &mut status, 0) };
    assert_eq!(waited, pid, "a child is waited for");
    status
}
