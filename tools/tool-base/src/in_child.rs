//! Runs work in a child process, so that this one can end although the child cannot: the kernel does not let a process
//! go while one of its threads waits in a driver, for a drive that no longer answers.
//!
//! Signals that interrupt the work go to this process, which passes them on, so that each counts once, whether it came
//! from a terminal, which sends it to both, or from `kill`. The child ends if this process does.

#![allow(unsafe_code)]

use std::io::{self, PipeReader, PipeWriter, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering::Relaxed};

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use serde::{Deserialize, Serialize};
use signal_hook::consts::{SIGCHLD, SIGTSTP, SIGUSR1};

use crate::Failure;
use crate::failure::cause;
use crate::inherited::is_ignored;
use crate::interrupt::{INTERRUPTS, IS_CHILD, TOLD, interrupts, note};
use crate::terminal::{input, is_ours};

/// What became of the work.
#[derive(Serialize, Deserialize)]
pub struct Ended {
    pub result: Result<(), Failure>,
    /// Whether a thread may be stuck in the kernel, so that the child is not waited for.
    pub is_stuck: bool,
}

/// Sets `flag` when the user asks this process to stop (SIGTSTP), instead of stopping it.
pub fn note_stops(flag: &Arc<AtomicBool>) -> io::Result<()> {
    note(SIGTSTP, flag)
}

/// Runs `work` in a child, and returns its result. This process must have no other threads.
pub fn run(work: impl FnOnce() -> Result<Ended, Failure>) -> Result<(), Failure> {
    let cannot =
        |error: io::Error| Failure::Runtime(format!("a process of its own: {}", cause(&error)));
    let (answers, to_parent) = io::pipe().map_err(cannot)?;
    let parent = std::process::id();
    let terminal = Terminal::now();
    // SAFETY: this process has one thread, so the child is as whole as this process is.
    match unsafe { libc::fork() } {
        -1 => Err(cannot(io::Error::last_os_error())),
        0 => {
            drop(answers);
            as_child(work, to_parent, parent)
        }
        child => {
            drop((work, to_parent));
            as_parent(child, answers, &terminal)
        }
    }
}

fn as_child(
    work: impl FnOnce() -> Result<Ended, Failure>,
    mut to_parent: PipeWriter,
    parent: u32,
) -> ! {
    IS_CHILD.store(true, Relaxed);
    // SAFETY: these calls take numbers. Until the work notes the signal of an interrupt, that ends this process.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        for signal in INTERRUPTS {
            libc::signal(signal, libc::SIG_IGN);
        }
    }
    if std::os::unix::process::parent_id() != parent {
        std::process::exit(1);
    }
    // The panic has been reported on standard error.
    let Ok(ended) = catch_unwind(AssertUnwindSafe(work)) else {
        std::process::exit(101);
    };
    let ended = ended.unwrap_or_else(|failure| Ended {
        result: Err(failure),
        is_stuck: false,
    });
    let message = serde_json::to_vec(&ended).expect("texts and a flag");
    // If the parent is gone, so is whoever wants to know.
    let _ = to_parent.write_all(&message);
    drop(to_parent);
    std::process::exit(0)
}

fn as_parent(child: i32, answers: PipeReader, terminal: &Terminal) -> Result<(), Failure> {
    pass_signals_on(child, terminal)
        .map_err(|error| Failure::Runtime(format!("signals: {}", cause(&error))))?;
    // What was read is whole, although the child may never close its end.
    let mut messages = serde_json::Deserializer::from_reader(answers).into_iter();
    match messages.next() {
        Some(Ok(Ended { result, is_stuck })) => {
            if !is_stuck {
                wait_for(child);
            }
            result
        }
        _ => {
            let status = wait_for(child);
            terminal.restore();
            Err(Failure::Runtime(match libc::WIFSIGNALED(status) {
                true => format!(
                    "the process that did the work was ended by signal {}",
                    libc::WTERMSIG(status)
                ),
                false => "the process that did the work failed".into(),
            }))
        }
    }
}

/// Waits until `child` has ended, and returns its status.
fn wait_for(child: i32) -> i32 {
    let mut status = 0;
    // SAFETY: the call writes a status.
    while unsafe { libc::waitpid(child, &raw mut status, 0) } == -1
        && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
    {}
    status
}

/// Ends `child`, and waits until it has ended, for a second at most: a thread that waits in a driver keeps it. May be
/// called in a signal's handler.
fn end(child: i32) {
    for _ in 0..100 {
        // SAFETY: an all-zero siginfo is valid, the call writes to it, and all of these may be called in a handler. What
        // is not known to have ended is still this process's child.
        unsafe {
            let mut about: libc::siginfo_t = std::mem::zeroed();
            let which = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
            let asked = libc::waitid(libc::P_PID, child as u32, &raw mut about, which);
            if asked != 0 || about.si_pid() == child {
                return;
            }
            libc::kill(child, libc::SIGKILL);
            libc::poll(std::ptr::null_mut(), 0, 10);
        }
    }
}

/// The terminal of this process as it was before the work.
#[derive(Clone)]
struct Terminal(Option<Termios>);

impl Terminal {
    fn now() -> Terminal {
        Terminal(tcgetattr(input()).ok())
    }

    /// Restores it, if this process is in its foreground. May be called in a signal's handler.
    fn restore(&self) {
        if let Some(before) = &self.0
            && is_ours()
        {
            let _ = tcsetattr(input(), OptionalActions::Now, before);
        }
    }
}

/// From now on, the first interrupt is passed on, a second one ends this process, and it stops and continues with the
/// child.
fn pass_signals_on(child: i32, terminal: &Terminal) -> io::Result<()> {
    let noted = Arc::new(AtomicI32::new(0));
    for signal in interrupts() {
        let (noted, terminal) = (noted.clone(), terminal.clone());
        let pass_on = move || {
            if noted.swap(signal, Relaxed) != 0 {
                // Or else the child might turn echo off once more.
                end(child);
                terminal.restore();
                // SAFETY: the call takes a number, and may be made in a handler.
                unsafe { libc::_exit(1) }
            }
            // SAFETY: as above.
            unsafe { libc::kill(child, TOLD) };
        };
        // SAFETY: the action makes system calls that are safe in a handler, and uses atomics.
        unsafe { signal_hook::low_level::register(signal, pass_on) }?;
    }
    if !is_ignored(SIGUSR1) {
        let pass_on = move || {
            // SAFETY: the call takes numbers, and may be made in a handler.
            unsafe { libc::kill(child, SIGUSR1) };
        };
        // SAFETY: as above.
        unsafe { signal_hook::low_level::register(SIGUSR1, pass_on) }?;
    }
    let follow = move || {
        // SAFETY: an all-zero siginfo is valid, the call writes to it, and all of these may be called in a handler.
        unsafe {
            let mut about: libc::siginfo_t = std::mem::zeroed();
            let which = libc::WSTOPPED | libc::WNOHANG;
            let asked = libc::waitid(libc::P_PID, child as u32, &raw mut about, which);
            if asked == 0 && about.si_pid() == child {
                libc::kill(libc::getpid(), libc::SIGSTOP);
                libc::kill(child, libc::SIGCONT);
            }
        }
    };
    // SAFETY: see the calls.
    unsafe { signal_hook::low_level::register(SIGCHLD, follow) }?;
    // The child stops at a good moment, and this process with it.
    // SAFETY: the call takes numbers.
    unsafe { libc::signal(SIGTSTP, libc::SIG_IGN) };
    Ok(())
}
