//! Runs the command as a user would, with a deadline for everything.

pub mod emulator;

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

/// Bytes 00 to 1f, as hexadecimal digits.
pub const SEED: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

/// Nothing here takes this long unless it hangs.
pub const DEADLINE: Duration = Duration::from_secs(120);

/// The command with `arguments`, split at blanks.
pub fn squall(arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_squall"));
    command
        .args(arguments.split_whitespace())
        .stdin(Stdio::null());
    // SAFETY: it only makes system calls.
    unsafe { command.pre_exec(reset_interrupts) };
    command
}

/// Gives interrupts their usual effect in a command: background jobs of shells ignore SIGINT and SIGQUIT, and what nohup(1) starts
/// ignores SIGHUP. For use after a fork.
pub fn reset_interrupts() -> io::Result<()> {
    for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM] {
        // SAFETY: the call takes numbers.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    Ok(())
}

/// Runs the command to its end and collects both outputs.
pub fn run(arguments: &str) -> Output {
    squall(arguments).output().expect("the command runs")
}

/// The standard output of a run that must succeed and write no errors.
pub fn bytes(arguments: &str) -> Vec<u8> {
    let output = run(arguments);
    assert_eq!(text(&output.stderr), "", "{arguments}");
    assert!(output.status.success(), "{arguments}: {}", output.status);
    output.stdout
}

/// A script for a shell, in which the command is `$squall`.
pub fn in_shell(script: &str) -> Command {
    let mut shell = Command::new("sh");
    shell
        .args(["-c", script])
        .env("squall", env!("CARGO_BIN_EXE_squall"));
    shell
}

/// Runs such a script.
pub fn by_shell(script: &str) -> Output {
    in_shell(script).output().expect("the shell runs")
}

/// A program's output, which must be UTF-8.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text is UTF-8")
}

/// Fails unless the run ended with this code and one line on standard error that has all `parts`.
#[track_caller]
pub fn refused(output: &Output, code: i32, parts: &[&str]) {
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{message}");
    assert_eq!(text(&output.stdout), "");
    assert!(message.starts_with("squall: "), "{message}");
    assert_eq!(message.lines().count(), 1, "{message}");
    for part in parts {
        assert!(message.contains(part), "{part}: {message}");
    }
}

/// Starts the command with its standard error in a pipe.
pub fn spawn(command: &mut Command) -> Child {
    command
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command runs")
}

/// Waits for `child`; returns its exit code and its piped standard error.
pub fn wait_for_end(mut child: Child) -> (Option<i32>, String) {
    let started = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("the child can be waited for") {
            break status;
        }
        if started.elapsed() > DEADLINE {
            let _ = child.kill();
            panic!("the command hangs");
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let mut message = String::new();
    if let Some(mut stderr) = child.stderr.take() {
        std::io::Read::read_to_string(&mut stderr, &mut message).expect("errors are text");
    }
    (status.code(), message)
}

/// A new pseudo-terminal: our side, and the side for the command.
pub fn terminal() -> (File, OwnedFd) {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)
        .expect("there are terminals");
    grantpt(&ours).expect("a terminal of ours");
    unlockpt(&ours).expect("a terminal of ours");
    let name = ptsname(&ours, Vec::new()).expect("terminals have names");
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let theirs = rustix::fs::open(&*name, flags, Mode::empty()).expect("the terminal opens");
    (ours.into(), theirs)
}

/// A path for a file that is removed on drop.
pub struct Scratch(PathBuf);

impl Scratch {
    pub fn new() -> Scratch {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("squall-cli-{}-{number}", std::process::id());
        Scratch(std::env::temp_dir().join(name))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
