//! What a failed system call means.

use std::io;
use std::path::Path;

use squall_command::Failure;
use squall_command::failure::cause;

/// Tells of an error at `path`.
pub fn at(path: &Path) -> impl FnOnce(io::Error) -> Failure {
    move |error| Failure::Runtime(format!("{}: {}", path.display(), cause(&error)))
}
