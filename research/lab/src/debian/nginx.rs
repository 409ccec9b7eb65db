//! nginx and OpenSSL with the libraries that they need, for guests that serve TLS: a userland of
//! nothing else.

use std::path::{Path, PathBuf};

use squall_tools::Failure;
use squall_tools::failure::at;

use super::lists::Release;
use super::record::Record;
use super::unfinished::{keep, remove};
use super::userland::{self, LIBRARIES, LOADER};

/// The release of Debian that they come from.
pub const RELEASE: Release = Release::Trixie;

/// The packages, without anything else that they ask for: what is kept of them needs no more.
/// libgcc is for squall's libraries.
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

/// What a tree must have.
pub const PARTS: [&str; 4] = [
    LOADER,
    "usr/lib/x86_64-linux-gnu/libssl.so.3",
    OPENSSL,
    "usr/sbin/nginx",
];

const OPENSSL: &str = "usr/bin/openssl";

/// What is kept of the packages.
const KEPT: [&str; 4] = [OPENSSL, LIBRARIES, "usr/lib64", "usr/sbin/nginx"];

/// What nobody uses of it: encodings of text, a library of vectors.
const UNUSED: [&str; 2] = [
    "usr/lib/x86_64-linux-gnu/gconv",
    "usr/lib/x86_64-linux-gnu/libmvec.so.1",
];

/// nginx and OpenSSL in the cache.
#[derive(Debug)]
pub struct Nginx {
    directory: PathBuf,
    /// Of the Debian package nginx.
    pub version: String,
}

impl Nginx {
    /// Those of the tree at `place`, which has this record.
    pub(super) fn of(place: PathBuf, record: Record) -> Nginx {
        Nginx {
            directory: place,
            version: record.version,
        }
    }

    /// The tree, as it is to be at the root of a guest.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Makes a certificate for nobody, signed by itself, and its key: ECDSA with P-256.
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

/// What a tree is made from.
pub fn list() -> Vec<String> {
    let lists = [&PACKAGES[..], &KEPT, &UNUSED];
    lists.concat().into_iter().map(str::to_owned).collect()
}

/// Moves what is kept to `tree`.
pub fn lay_out(unpacked: &Path, tree: &Path) -> Result<(), Failure> {
    for unused in UNUSED {
        let path = unpacked.join(unused);
        remove(&path).map_err(at(&path))?;
    }
    keep(&KEPT, unpacked, tree)
}
