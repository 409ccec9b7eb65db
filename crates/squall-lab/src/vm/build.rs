//! Builds the probe: static, because it is alone in its guest.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use squall_command::Failure;
use squall_command::failure::cause;

const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Where the repository is.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Builds the probe, or finds it built, and gives its path.
pub fn probe() -> Result<PathBuf, Failure> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(&cargo)
        .current_dir(ROOT)
        .args(["build", "--release", "--quiet", "--package", "squall-probe"])
        .args(["--target", TARGET, "--message-format=json"])
        .env("CARGO_TARGET_DIR", target_directory())
        .env("RUSTFLAGS", "-C target-feature=+crt-static")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| {
            let cargo = cargo.display();
            Failure::Runtime(format!(
                "the probe cannot be built: {cargo}: {}",
                cause(&error)
            ))
        })?;
    let messages = String::from_utf8_lossy(&built.stdout);
    match messages.lines().find_map(executable) {
        Some(path) if built.status.success() => Ok(path),
        _ => Err(Failure::Runtime(
            "the probe cannot be built; cargo's messages are above".into(),
        )),
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
    let message: serde_json::Value = serde_json::from_str(line).ok()?;
    message["executable"].as_str().map(PathBuf::from)
}
