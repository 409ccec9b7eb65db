//! Headers of Debian's kernels, for building modules: the contents of `/usr/src` of the machine that
//! builds them.
//!
//! There are three directories: the kernel's own, one for all kernels of its version, and one with
//! programs, to which the other two have links.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use squall_tools::Failure;
use squall_tools::failure::at;

use super::apt::Archive;
use super::kernel::{KernelName, closure};
use super::lists::Package;
use super::record::Record;
use super::staging::remove;

const PREFIX: &str = "linux-headers-";

/// Prefixes of the names of the packages.
const PREFIXES: [&str; 2] = [PREFIX, "linux-kbuild-"];

/// A kernel's headers in the cache.
#[derive(Debug)]
pub struct Headers {
    /// The release of the kernel that they are for.
    pub release: String,
    directory: PathBuf,
}

impl Headers {
    /// The headers in the tree at `place`, with this record.
    pub(super) fn of(place: PathBuf, record: Record) -> Headers {
        Headers {
            release: record.release.unwrap_or_default(),
            directory: place,
        }
    }

    /// The tree, which is for `/usr/src`.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The name of the kernel's own directory in the tree.
    pub fn name(&self) -> String {
        format!("{PREFIX}{}", self.release)
    }
}

/// The packages of the headers of the kernel `name`.
pub fn packages(name: KernelName, archive: &Archive) -> Result<Vec<Package>, Failure> {
    let is_part = |package: &str| PREFIXES.iter().any(|prefix| package.starts_with(prefix));
    closure(name.headers(), name.suite(), is_part, archive)
}

/// Moves the headers to `tree` and returns the kernel's release.
pub fn lay_out(unpacked: &Path, tree: &Path) -> Result<String, Failure> {
    let sources = unpacked.join("usr/src");
    let mut release = None;
    for entry in fs::read_dir(&sources).map_err(at(&sources))? {
        let name = entry.map_err(at(&sources))?.file_name();
        let name = name.to_string_lossy();
        let (from, to) = (sources.join(&*name), tree.join(&*name));
        if let Some(of_kernel) = name.strip_prefix(PREFIX) {
            fs::rename(&from, &to).map_err(at(&from))?;
            relink(&to)?;
            if to.join("Module.symvers").is_file() {
                release = Some(of_kernel.to_owned());
            }
        } else {
            let programs = unpacked.join("usr/lib").join(&*name);
            fs::rename(&programs, &to).map_err(at(&programs))?;
        }
    }
    release.ok_or_else(|| Failure::Runtime("the packages have no headers of a kernel".to_owned()))
}

/// Points the links to programs to their directory beside `headers`, and removes the description of the
/// kernel's types for BPF, which would need one more program to build a module.
fn relink(headers: &Path) -> Result<(), Failure> {
    for name in ["scripts", "tools"] {
        let link = headers.join(name);
        let Ok(target) = fs::read_link(&link) else {
            continue;
        };
        let parts = target.strip_prefix("../../lib").unwrap_or(&target);
        fs::remove_file(&link).map_err(at(&link))?;
        symlink(Path::new("..").join(parts), &link).map_err(at(&link))?;
    }
    let types = headers.join("vmlinux");
    remove(&types).map_err(at(&types))
}
