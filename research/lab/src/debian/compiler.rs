//! The compilers that Debian's kernels are built with, `make`, and the utilities that a kernel's build
//! files use. They are unpacked as a root directory of their own, because headers refuse other
//! compilers, and their programs need a C library that is new enough.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use squall_tools::Failure;
use squall_tools::failure::at;

use super::lists::Release;
use super::staging::{keep, remove};

/// The Debian release of the packages.
pub const RELEASE: Release = Release::Trixie;

/// The packages: gcc 12 for kernels of Debian 12, gcc 14 for those of Debian 13. libelf is for the
/// headers' programs.
pub const PACKAGES: [&str; 9] = [
    "gcc-14",
    "coreutils",
    "dash",
    "gawk",
    "gcc-12",
    "grep",
    "libelf1t64",
    "make",
    "sed",
];

/// Files that the tree must have.
pub const REQUIRED_FILES: [&str; 5] = [
    "usr/bin/gcc-12",
    "usr/bin/x86_64-linux-gnu-gcc-14",
    "usr/bin/make",
    "usr/bin/sh",
    "usr/bin/awk",
];

/// Directories of the packages that are kept.
const KEPT_PATHS: [&str; 4] = ["usr/bin", "usr/lib", "usr/lib64", "usr/libexec"];

/// Paths in [`KEPT_PATHS`] directories that are removed: link-time optimization and text encodings, which are
/// a third of the size.
const UNUSED_PATHS: [&str; 5] = [
    "usr/bin/x86_64-linux-gnu-lto-dump-12",
    "usr/bin/x86_64-linux-gnu-lto-dump-14",
    "usr/lib/gcc/x86_64-linux-gnu/12/lto1",
    "usr/lib/x86_64-linux-gnu/gconv",
    "usr/libexec/gcc/x86_64-linux-gnu/14/lto1",
];

/// Links that installing the packages would make.
const LINKS: [(&str, &str); 4] = [
    ("bin", "usr/bin"),
    ("lib", "usr/lib"),
    ("lib64", "usr/lib64"),
    ("usr/bin/awk", "gawk"),
];

/// Empty directories: for devices, processes (objtool reads its limits there), headers, and the module
/// that is built.
const EMPTY_DIRECTORIES: [&str; 5] = ["dev", "module", "proc", "tmp", "usr/src"];

/// The lists from which the tree is made.
pub fn list() -> Vec<String> {
    let lists = [
        &PACKAGES[..],
        &KEPT_PATHS,
        &UNUSED_PATHS,
        &EMPTY_DIRECTORIES,
    ];
    lists.concat().into_iter().map(str::to_owned).collect()
}

/// Moves the files to keep to `tree`.
pub fn lay_out(unpacked: &Path, tree: &Path) -> Result<(), Failure> {
    for unused in UNUSED_PATHS {
        let path = unpacked.join(unused);
        remove(&path).map_err(at(&path))?;
    }
    keep(&KEPT_PATHS, unpacked, tree)?;
    for (name, target) in LINKS {
        let link = tree.join(name);
        symlink(target, &link).map_err(at(&link))?;
    }
    for place in EMPTY_DIRECTORIES {
        let path = tree.join(place);
        fs::create_dir_all(&path).map_err(at(&path))?;
    }
    Ok(())
}
