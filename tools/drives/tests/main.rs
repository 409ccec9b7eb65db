//! Drives as the kernel shows them: what a name stands for, what is in use, and who else has it open.

mod claims;
mod guards;
mod target;

use std::fs::{File, OpenOptions};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

use squall_drives::{Checked, Purpose, Target};
use squall_testing::suite;
use squall_tool_base::retry::retry;

fn main() -> ExitCode {
    if guards::is_asked_elsewhere() {
        return ExitCode::SUCCESS;
    }
    suite::main(&[claims::TESTS, guards::TESTS, target::TESTS])
}

const MIB: u64 = 1 << 20;

const WIPE: Purpose = Purpose {
    verb: "wipe",
    instead: |path| format!("see {}", path.display()),
};

#[track_caller]
fn find(path: &Path) -> Target {
    Target::find(path).expect("a target")
}

fn writable(path: &Path) -> File {
    let mut options = OpenOptions::new();
    options.read(true).write(true).open(path).expect("it opens")
}

/// Runs a program, which must succeed, and returns its output.
#[track_caller]
fn runs(command: &mut Command) -> String {
    let output = command.output().expect("it runs");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Repeats `attempt` until it succeeds: a child that another test has just forked has this process's
/// files open until it runs its program.
#[track_caller]
fn in_the_end<E: std::fmt::Debug>(attempt: impl Fn() -> Result<(), E>) {
    retry(Duration::from_secs(600), |_| true, attempt).expect("nobody else has it");
}

/// The failure's text for `targets`, which must be refused.
#[track_caller]
fn refusal(targets: &[Target]) -> String {
    let refused = Checked::new(targets.to_vec(), WIPE).err();
    refused.expect("a refusal").into_text()
}

/// Asserts that the target at `path` is refused in a text with all of `words`, and that nothing was written.
#[track_caller]
fn refused(path: &Path, words: &[&str]) {
    all_refused(&[find(path)], words);
}

#[track_caller]
fn all_refused(targets: &[Target], words: &[&str]) {
    let text = refusal(targets);
    for word in words {
        assert!(text.contains(word), "{word:?} is not in: {text}");
    }
    assert!(text.ends_with("nothing was written"), "{text}");
}

#[track_caller]
fn allowed(path: &Path) {
    all_allowed(&[find(path)]);
}

#[track_caller]
fn all_allowed(targets: &[Target]) {
    in_the_end(|| Checked::new(targets.to_vec(), WIPE).map(drop));
}

/// Asserts that the target at `path` is refused as long as there is an `obstacle`, and allowed before and afterwards.
#[track_caller]
fn refused_while<T>(path: &Path, words: &[&str], obstacle: impl FnOnce() -> T) {
    allowed(path);
    let obstacle = obstacle();
    refused(path, words);
    drop(obstacle);
    allowed(path);
}
