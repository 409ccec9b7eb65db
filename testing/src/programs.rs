//! Programs as they are, and what each is made to do.

pub mod chromium;
pub mod nginx;
pub mod openssl;
pub mod postgres;
pub mod python;
pub mod ssh;

use std::path::PathBuf;

use crate::workspace;

/// Where `program` is.
///
/// # Errors
/// What to install where it is not there.
pub fn installed(program: &str, package: &str) -> Result<PathBuf, String> {
    workspace::find(program)
        .ok_or_else(|| format!("{program} is not here: install the package {package}"))
}
