//! Programs for guests, with all dependencies: a shell and its utilities, programs for modules, device
//! mapper and encryption, and udev.

use std::path::{Path, PathBuf};
use std::process::Command;

use squall_tools::Failure;
use squall_tools::failure::at;

use super::lists::Release;
use super::staging::{keep, remove};
use super::userland::{self, LIBRARIES, LOADER};

/// The Debian release of the packages.
pub const RELEASE: Release = Release::Trixie;

/// The packages. The shell is not busybox's, because that prefers its own utilities.
///
/// udev needs a package that creates users; the one here is smaller than systemd.
pub const PACKAGES: [&str; 9] = [
    "cryptsetup-bin",
    "busybox-static",
    "cryptsetup",
    "dash",
    "dmsetup",
    "kmod",
    "systemd-standalone-sysusers",
    "sysvinit-utils",
    "udev",
];

/// Packages that are fetched without their dependencies, because the files that are kept need none
/// besides those of [`PACKAGES`].
pub const WITHOUT_DEPENDENCIES: [&str; 1] = ["util-linux"];

/// Files that the tree must have.
pub const REQUIRED_FILES: [&str; 7] = [
    LOADER,
    "usr/bin/busybox",
    "usr/bin/sh",
    "usr/bin/kmod",
    "usr/bin/udevadm",
    "usr/sbin/cryptsetup",
    "usr/sbin/dmsetup",
];

/// Files of the packages that are kept.
const KEPT_PATHS: [&str; 25] = [
    "usr/bin/busybox",
    "usr/bin/dash",
    "usr/bin/kmod",
    "usr/bin/sh",
    "usr/bin/udevadm",
    "usr/lib/cryptsetup",
    "usr/lib/init",
    "usr/lib/lsb",
    "usr/lib/modprobe.d",
    "usr/lib/systemd/systemd-udevd",
    "usr/lib/udev",
    LIBRARIES,
    "usr/lib64",
    "usr/sbin/blkid",
    "usr/sbin/cryptdisks_start",
    "usr/sbin/cryptdisks_stop",
    "usr/sbin/cryptsetup",
    "usr/sbin/depmod",
    "usr/sbin/dmsetup",
    "usr/sbin/insmod",
    "usr/sbin/lsmod",
    "usr/sbin/mkswap",
    "usr/sbin/modinfo",
    "usr/sbin/modprobe",
    "usr/sbin/rmmod",
];

/// Paths in [`KEPT_PATHS`] directories that are removed: hardware names, text encodings and libraries that
/// nothing uses. They are half of the size.
const UNUSED_PATHS: [&str; 4] = [
    "usr/lib/udev/hwdb.d",
    "usr/lib/x86_64-linux-gnu/gconv",
    "usr/lib/x86_64-linux-gnu/libmvec.so.1",
    "usr/lib/x86_64-linux-gnu/libssl.so.3",
];

/// The suite of the packages.
pub fn suite() -> &'static str {
    RELEASE.suite()
}

/// The tools in the cache.
#[derive(Debug)]
pub struct Tools {
    directory: PathBuf,
}

impl Tools {
    /// The tools in the tree at `place`.
    pub(super) fn of(place: PathBuf) -> Tools {
        Tools { directory: place }
    }

    /// The tree, which is for the root directory of a guest.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Runs the tree's program at `path` on this machine, with `name` as its name, and returns its
    /// output.
    pub(crate) fn run(
        &self,
        path: &str,
        name: &str,
        arguments: impl FnOnce(&mut Command),
    ) -> Result<String, Failure> {
        userland::run(&self.directory, path, name, arguments)
    }
}

/// The lists from which the tree is made.
pub fn list() -> Vec<String> {
    let lists = [
        &PACKAGES[..],
        &WITHOUT_DEPENDENCIES,
        &KEPT_PATHS,
        &UNUSED_PATHS,
    ];
    lists.concat().into_iter().map(str::to_owned).collect()
}

/// Moves the files to keep to `tree`.
pub fn lay_out(unpacked: &Path, tree: &Path) -> Result<(), Failure> {
    for unused in UNUSED_PATHS {
        let path = unpacked.join(unused);
        remove(&path).map_err(at(&path))?;
    }
    keep(&KEPT_PATHS, unpacked, tree)
}
