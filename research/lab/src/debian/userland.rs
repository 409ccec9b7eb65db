//! Runs programs of a tree that has a C library with the tree's own loader, on any x86-64 Linux.

use std::path::Path;
use std::process::Command;

use squall_tools::Failure;

use super::programs;

/// The directory of a tree's libraries.
pub const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";

/// A tree's dynamic loader.
pub const LOADER: &str = "usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2";

/// Runs the program at `path` in `tree` on this machine, with `name` as its name, and returns its
/// output.
pub fn run(
    tree: &Path,
    path: &str,
    name: &str,
    arguments: impl FnOnce(&mut Command),
) -> Result<String, Failure> {
    let loader = tree.join(LOADER);
    let mut command = programs::command(&loader.to_string_lossy());
    command.arg("--library-path").arg(tree.join(LIBRARIES));
    command.args(["--argv0", name]).arg(tree.join(path));
    arguments(&mut command);
    programs::output(&mut command)
        .map_err(|fault| Failure::Runtime(format!("{name} of the lab's tools: {fault}")))
}
