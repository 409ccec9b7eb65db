//! nginx and OpenSSL with their libraries, as a minimal userland for guests that serve TLS.

use std::path::{Path, PathBuf};

use squall_tools::Failure;
use squall_tools::failure::at;

use super::lists::Release;
use super::record::Record;
use super::staging::{keep, remove};
use super::userland::{self, LIBRARIES, LOADER};

/// The Debian release of the packages.
pub const RELEASE: Release = Release::Trixie;

/// The packages, without further dependencies, because the files that are kept need no others. libgcc
/// is for squall's libraries.
pub const PACKAGES: [&str; 9] = [
    "nginx",
    "libc6",
    "libcrypt1",
    "libgcc-s1",
    "libpcre2-8-0",
    "libssl3t64",
    "libzstd1",
    "openssl",
    "zlib1g",
];

/// Files that the tree must have.
pub const REQUIRED_FILES: [&str; 4] = [
    LOADER,
    "usr/lib/x86_64-linux-gnu/libssl.so.3",
    OPENSSL,
    "usr/sbin/nginx",
];

const OPENSSL: &str = "usr/bin/openssl";

/// Files of the packages that are kept.
const KEPT_PATHS: [&str; 4] = [OPENSSL, LIBRARIES, "usr/lib64", "usr/sbin/nginx"];

/// Files below these that nothing uses: text encodings, and a vector library.
const UNUSED_PATHS: [&str; 2] = [
    "usr/lib/x86_64-linux-gnu/gconv",
    "usr/lib/x86_64-linux-gnu/libmvec.so.1",
];

/// nginx and OpenSSL in the cache.
#[derive(Debug)]
pub struct Nginx {
    directory: PathBuf,
    /// The version of the Debian package nginx.
    pub version: String,
}

impl Nginx {
    /// nginx in the tree at `place`, with this record.
    pub(super) fn of(place: PathBuf, record: Record) -> Nginx {
        Nginx {
            directory: place,
            version: record.version,
        }
    }

    /// The tree, which is for the root directory of a guest.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Makes a self-signed certificate and its key: ECDSA with P-256.
    pub(crate) fn certify(&self, certificate: &Path, key: &Path) -> Result<(), Failure> {
        let made = userland::run(&self.directory, OPENSSL, "openssl", |command| {
            command
                .args(["req", "-x509", "-newkey", "ec", "-nodes"])
                .args(["-pkeyopt", "ec_paramgen_curve:P-256", "-days", "36500"])
                .args(["-subj", "/CN=squall-lab", "-out"])
                .arg(certificate)
                .arg("-keyout")
                .arg(key)
                .env("OPENSSL_CONF", "/dev/null");
        });
        made.map(drop)
    }
}

/// The lists from which the tree is made.
pub fn list() -> Vec<String> {
    let lists = [&PACKAGES[..], &KEPT_PATHS, &UNUSED_PATHS];
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
