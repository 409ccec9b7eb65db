//! Builds programs of the workspace for guests: static, because a guest has no libraries, or others.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;
use squall_command::Failure;
use squall_command::failure::cause;

const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Where the repository is.
pub(super) const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Builds the program `name` of `package`, or finds it built, and gives its path.
pub fn program(package: &str, name: &str) -> Result<PathBuf, Failure> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(&cargo)
        .current_dir(ROOT)
        .args(["build", "--release", "--quiet", "--package", package])
        .args(["--bin", name, "--target", TARGET, "--message-format=json"])
        .env("CARGO_TARGET_DIR", target_directory())
        .env("RUSTFLAGS", "-C target-feature=+crt-static")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| {
            let cargo = cargo.display();
            Failure::Runtime(format!(
                "{name} cannot be built: {cargo}: {}",
                cause(&error)
            ))
        })?;
    let messages = String::from_utf8_lossy(&built.stdout);
    match messages.lines().find_map(executable) {
        Some(path) if built.status.success() => Ok(path),
        _ => Err(Failure::Runtime(format!(
            "{name} cannot be built; cargo's messages are above"
        ))),
    }
}

/// A directory of its own, because the flags differ.
fn target_directory() -> OsString {
    let shared = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let shared = shared.unwrap_or_else(|| [ROOT, "target"].iter().collect());
    shared.join("probe").into()
}

/// The program that a line of cargo's messages tells of.
fn executable(line: &str) -> Option<PathBuf> {
    let message: Value = serde_json::from_str(line).ok()?;
    message["executable"].as_str().map(PathBuf::from)
}
