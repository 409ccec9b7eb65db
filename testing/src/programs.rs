//! Unmodified programs, the operations that tests perform with each, and what a machine must have for that.

pub mod chromium;
pub mod nginx;
pub mod openssl;
pub mod postgres;
pub mod python;
pub mod ssh;

use std::path::PathBuf;

use crate::needs::program;
use crate::suite::Need;
use crate::workspace;

pub const CHROMIUM: Need = program(chromium::available);
pub const NGINX: Need = program(|| has("nginx", "nginx-light"));
pub const OPENSSL: Need = program(|| has("openssl", "openssl"));
pub const POSTGRES: Need = program(postgres::available);
pub const PYTHON: Need = program(|| has("python3", "python3"));
pub const SSHD: Need = program(|| has("sshd", "openssh-server"));
pub const SSH_KEYGEN: Need = program(|| has("ssh-keygen", "openssh-client"));
pub const WRK: Need = program(|| has("wrk", "wrk"));

fn has(program: &str, package: &str) -> Result<(), String> {
    let missing = || format!("{program} is not installed: install the package {package}");
    workspace::find(program).map(drop).ok_or_else(missing)
}

/// The path of a program, which must be installed.
#[track_caller]
fn installed(program: &str) -> PathBuf {
    workspace::find(program).unwrap_or_else(|| panic!("{program} is not installed"))
}
