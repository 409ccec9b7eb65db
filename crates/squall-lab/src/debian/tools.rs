//! Programs for guests, with all they need: a shell and its utilities, and what sets up modules,
//! device mapper and encryption.

use std::path::{Path, PathBuf};
use std::process::Command;

use squall_command::Failure;
use squall_command::failure::at;

use super::lists::Release;
use super::part::{keep, remove};
use super::tool;

/// The release of Debian that they come from.
pub const RELEASE: Release = Release::Trixie;

/// The packages. The shell is not busybox's, which prefers its own utilities to those of others.
pub const PACKAGES: [&str; 5] = [
    "cryptsetup-bin",
    "busybox-static",
    "dash",
    "dmsetup",
    "kmod",
];

/// What a tree must have.
pub const PARTS: [&str; 6] = [
    LOADER,
    "usr/bin/busybox",
    "usr/bin/sh",
    "usr/bin/kmod",
    "usr/sbin/cryptsetup",
    "usr/sbin/dmsetup",
];

const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";
const LOADER: &str = "usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2";

/// What is kept of the packages.
const KEPT: [&str; 5] = [
    "usr/bin",
    "usr/sbin",
    "usr/lib64",
    "usr/lib/modprobe.d",
    LIBRARIES,
];

/// Half of what is kept: encodings of text that nobody uses.
const UNUSED: &str = "usr/lib/x86_64-linux-gnu/gconv";

/// The suite that they come from.
pub fn suite() -> &'static str {
    RELEASE.suite()
}

/// The tools in the cache.
#[derive(Debug)]
pub struct Tools {
    directory: PathBuf,
}

impl Tools {
    /// The tools of the tree at `place`.
    pub(super) fn of(place: PathBuf) -> Tools {
        Tools { directory: place }
    }

    /// The tree, as it is to be at the root of a guest.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Runs the program at `path` in the tree under `name`, on this machine: gives what it prints.
    pub(crate) fn run(
        &self,
        path: &str,
        name: &str,
        arguments: impl FnOnce(&mut Command),
    ) -> Result<String, Failure> {
        let loader = self.directory.join(LOADER);
        let mut command = tool::command(&loader.to_string_lossy());
        command
            .arg("--library-path")
            .arg(self.directory.join(LIBRARIES));
        command
            .args(["--argv0", name])
            .arg(self.directory.join(path));
        arguments(&mut command);
        tool::output(&mut command)
            .map_err(|fault| Failure::Runtime(format!("{name} of the lab's tools: {fault}")))
    }
}

/// Moves what is kept to `tree`.
pub fn lay_out(unpacked: &Path, tree: &Path) -> Result<(), Failure> {
    let unused = unpacked.join(UNUSED);
    remove(&unused).map_err(at(&unused))?;
    keep(&KEPT, unpacked, tree)
}
