//! Finds the commit that the command is built from, for `squall --version`: by git in the source
//! tree, in a published package by the file that `cargo package` puts there, elsewhere "unknown".
//!
//! It runs again only when git's HEAD has moved.

use std::fs;
use std::path::Path;
use std::process::Command;

/// Digits of a commit that are shown.
const DIGITS: usize = 12;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let commit = of_package().or_else(of_tree);
    let commit = commit.unwrap_or_else(|| "unknown".to_owned());
    println!("cargo::rustc-env=SQUALL_COMMIT={commit}");
}

/// The commit that a package was made from.
fn of_package() -> Option<String> {
    let info = fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let (_, rest) = info.split_once("\"sha1\"")?;
    shortened(rest.split('"').nth(1)?)
}

/// The commit of the source tree, if this folder is its `cli` and not a copy in another repository.
fn of_tree() -> Option<String> {
    let said = git(&["rev-parse", "--show-prefix", "HEAD"])?;
    let commit = said.strip_prefix("cli/\n")?;
    // Commits and checkouts write to the log of HEAD, and to HEAD where there is no log. A file that
    // is missing would have this run each time.
    for name in ["HEAD", "logs/HEAD"] {
        let path = git(&["rev-parse", "--git-path", name])?;
        if Path::new(path.trim()).exists() {
            println!("cargo::rerun-if-changed={}", path.trim());
        }
    }
    shortened(commit.trim())
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let said = String::from_utf8(output.stdout).ok()?;
    output.status.success().then_some(said)
}

fn shortened(commit: &str) -> Option<String> {
    let is_commit = commit.len() >= DIGITS && commit.bytes().all(|b| b.is_ascii_hexdigit());
    is_commit.then(|| commit[..DIGITS].to_owned())
}
