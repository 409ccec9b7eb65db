//! Builds programs of the workspace for guests, statically linked because a guest may have no
//! libraries, and shared libraries for guests with a C library.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;
use squall_tools::Failure;
use squall_tools::failure::cause;

const TARGET: &str = "x86_64-unknown-linux-gnu";

/// The repository's root directory.
pub(super) const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Builds the program `name` of `package` if necessary, and returns its path.
pub fn program(package: &str, name: &str) -> Result<PathBuf, Failure> {
    let mut cargo = cargo(package);
    cargo
        .args(["--all-features", "--bin", name, "--target", TARGET])
        .env("CARGO_TARGET_DIR", target_directory())
        .env("RUSTFLAGS", "-C target-feature=+crt-static");
    build(cargo, name, executable)
}

/// Builds the shared library of `package` if necessary, and returns its path.
pub fn library(package: &str) -> Result<PathBuf, Failure> {
    let mut cargo = cargo(package);
    // RUSTFLAGS of the caller could be meant for another target.
    cargo.arg("--lib").env_remove("RUSTFLAGS");
    build(cargo, package, |line| shared_library(package, line))
}

fn cargo(package: &str) -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command
        .current_dir(ROOT)
        .args(["build", "--release", "--quiet", "--message-format=json"])
        .args(["--package", package])
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .stderr(Stdio::inherit());
    command
}

/// Runs `cargo`, which builds `name`, and returns what `find` finds in a line of its messages.
fn build(
    mut cargo: Command,
    name: &str,
    find: impl Fn(&str) -> Option<PathBuf>,
) -> Result<PathBuf, Failure> {
    let built = cargo.output().map_err(|error| {
        let program = cargo.get_program().display();
        Failure::Runtime(format!(
            "{name} cannot be built: {program}: {}",
            cause(&error)
        ))
    })?;
    let messages = String::from_utf8_lossy(&built.stdout);
    match messages.lines().find_map(find) {
        Some(path) if built.status.success() => Ok(path),
        _ => Err(Failure::Runtime(format!(
            "{name} cannot be built; cargo's messages are above"
        ))),
    }
}

/// A separate target directory, because the flags differ.
fn target_directory() -> OsString {
    let shared = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let shared = shared.unwrap_or_else(|| [ROOT, "target"].iter().collect());
    shared.join("probe").into()
}

/// The path of the program, if this line of cargo's messages has one.
fn executable(line: &str) -> Option<PathBuf> {
    let message: Value = serde_json::from_str(line).ok()?;
    message["executable"].as_str().map(PathBuf::from)
}

/// The path of the shared library of `package`, if this line of cargo's messages has one.
fn shared_library(package: &str, line: &str) -> Option<PathBuf> {
    let message: Value = serde_json::from_str(line).ok()?;
    if message["target"]["name"] != package.replace('-', "_") {
        return None;
    }
    let files = message["filenames"].as_array()?;
    let mut files = files.iter().filter_map(Value::as_str);
    files.find(|file| file.ends_with(".so")).map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_is_distinguished_from_its_dependencies() {
        let line = |name: &str, files: &[&str]| {
            let target = serde_json::json!({ "name": name });
            serde_json::json!({ "target": target, "filenames": files }).to_string()
        };
        let found = |line: &str| shared_library("squall-preload", line);
        let files = ["/t/libsquall_preload.a", "/t/libsquall_preload.so"];
        let expected = Some("/t/libsquall_preload.so".into());
        assert_eq!(found(&line("squall_preload", &files)), expected);
        assert_eq!(
            found(&line("serde_derive", &["/t/libserde_derive.so"])),
            None
        );
        assert_eq!(found("no message"), None);
    }
}
