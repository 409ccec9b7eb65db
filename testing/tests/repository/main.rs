//! Tests of the source tree as a whole.

mod direction;
mod harness;
mod installed;
mod readme;

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// What Cargo says of the workspace.
fn metadata() -> Value {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--offline", "--format-version=1"])
        .current_dir(root)
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}
