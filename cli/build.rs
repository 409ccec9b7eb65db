//! Finds the commit that the command is built from, for `squall --version`. In the source tree git
//! tells it, in a published package the file that `cargo package` adds; elsewhere it is "unknown".
//!
//! It runs again only when git's HEAD has moved.

use std::fs;
use std::path::Path;
use std::process::Command;

/// Digits of a commit that are shown.
const DIGITS: usize = 12;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let commit = packaged_commit().or_else(git_commit);
    let commit = commit.unwrap_or_else(|| "unknown".to_owned());
    println!("cargo::rustc-env=SQUALL_COMMIT={commit}");
}

/// The commit that a package was made from.
fn packaged_commit() -> Option<String> {
    let info = fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let (_, rest) = info.split_once("\"sha1\"")?;
    shorten(rest.split('"').nth(1)?)
}

/// The commit of the source tree, if this folder is its `cli` and not a copy in another repository.
fn git_commit() -> Option<String> {
    let output = git(&["rev-parse", "--show-prefix", "HEAD"])?;
    let commit = output.strip_prefix("cli/\n")?;
    // Commits and checkouts write to the log of HEAD, or to HEAD if there is no log. Cargo would run
    // this script each time if a file that it watches is missing.
    for name in ["HEAD", "logs/HEAD"] {
        let path = git(&["rev-parse", "--git-path", name])?;
        if Path::new(path.trim()).exists() {
            println!("cargo::rerun-if-changed={}", path.trim());
        }
    }
    shorten(commit.trim())
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then_some(text)
}

fn shorten(commit: &str) -> Option<String> {
    let is_commit = commit.len() >= DIGITS && commit.bytes().all(|b| b.is_ascii_hexdigit());
    is_commit.then(|| commit[..DIGITS].to_owned())
}
