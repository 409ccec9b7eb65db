//! Unmodified programs, and the operations that tests perform with each.

pub mod chromium;
pub mod nginx;
pub mod openssl;
pub mod postgres;
pub mod python;
pub mod ssh;

use std::path::PathBuf;

use crate::workspace;

/// The path of `program`.
///
/// # Errors
/// Names the package to install if the program is missing.
pub fn installed(program: &str, package: &str) -> Result<PathBuf, String> {
    workspace::find(program)
        .ok_or_else(|| format!("{program} is not installed: install the package {package}"))
}
