//! Programs for guests, with a C library and all that they need: trees for the root directories of guests. Their own
//! loader runs them on any x86-64 Linux, too.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use squall_tools::Failure;
use squall_tools::failure::at;

use super::Tree;

/// The directory of a tree's libraries.
pub const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";

/// A tree's dynamic loader.
pub const LOADER: &str = "usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2";

/// A shell and its utilities, programs for modules, device mapper and encryption, and udev.
#[derive(Debug)]
pub struct Tools {
    directory: PathBuf,
}

impl Tools {
    pub(super) fn of(tree: Tree) -> Tools {
        Tools {
            directory: tree.place,
        }
    }

    /// The tree, which is for the root directory of a guest.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Runs the tree's program at `path` on this machine, with `name` as its name.
    pub fn run(
        &self,
        path: &str,
        name: &str,
        arguments: impl FnOnce(&mut Command),
    ) -> Result<(), Failure> {
        run(&self.directory, path, name, arguments)
    }
}

/// nginx and OpenSSL in the cache, for guests that serve TLS.
#[derive(Debug)]
pub struct Nginx {
    directory: PathBuf,
    /// The version of the Debian package nginx.
    pub version: String,
}

impl Nginx {
    pub(super) fn of(tree: Tree) -> Nginx {
        Nginx {
            version: tree.field("version"),
            directory: tree.place,
        }
    }

    /// The tree, which is for the root directory of a guest.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Makes a self-signed certificate and its key: ECDSA with P-256.
    pub fn certify(&self, certificate: &Path, key: &Path) -> Result<(), Failure> {
        run(&self.directory, "usr/bin/openssl", "openssl", |command| {
            command
                .args(["req", "-x509", "-newkey", "ec", "-nodes"])
                .args(["-pkeyopt", "ec_paramgen_curve:P-256", "-days", "36500"])
                .args(["-subj", "/CN=squall-lab", "-out"])
                .arg(certificate)
                .arg("-keyout")
                .arg(key)
                .env("OPENSSL_CONF", "/dev/null");
        })
    }
}

/// Runs the program at `path` in `tree` on this machine, with `name` as its name. If it fails, the last line of its
/// errors says why.
fn run(
    tree: &Path,
    path: &str,
    name: &str,
    arguments: impl FnOnce(&mut Command),
) -> Result<(), Failure> {
    let loader = tree.join(LOADER);
    let mut command = Command::new(&loader);
    command.env("LC_ALL", "C").stdin(Stdio::null());
    command.arg("--library-path").arg(tree.join(LIBRARIES));
    command.args(["--argv0", name]).arg(tree.join(path));
    arguments(&mut command);
    let output = command.output().map_err(at(&loader))?;
    if output.status.success() {
        return Ok(());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    let why = errors.trim_end().lines().next_back().map(str::to_owned);
    let why = why.unwrap_or_else(|| output.status.to_string());
    Err(Failure::Runtime(format!(
        "{name} of the lab's tools: {why}"
    )))
}
