//! QEMU with all dependencies including the C library, so that its own loader runs it on any x86-64
//! Linux, from any directory.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use squall_tools::Failure;

use super::lists::Release;
use super::record::Record;
use super::staging::keep;

/// The Debian release of the package.
pub const RELEASE: Release = Release::Trixie;

pub const PACKAGE: &str = "qemu-system-x86";

/// Files that the tree must have.
pub const REQUIRED_FILES: [&str; 3] = [PROGRAM, LOADER, FIRMWARE[0]];

const PROGRAM: &str = "usr/bin/qemu-system-x86_64";
const LOADER: &str = "usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2";
const LIBRARIES: [&str; 2] = ["usr/lib/x86_64-linux-gnu", "usr/lib"];
const FIRMWARE: [&str; 3] = ["usr/share/seabios", "usr/share/qemu", "usr/lib/ipxe/qemu"];

/// Files of the packages that are kept. The rest, such as set-user-ID programs, never leaves `part/`.
const KEPT_PATHS: [&str; 4] = [PROGRAM, "usr/lib", "usr/share/qemu", "usr/share/seabios"];

/// The suite of the package.
pub fn suite() -> &'static str {
    RELEASE.backports()
}

/// QEMU in the cache.
#[derive(Debug)]
pub struct Qemu {
    /// The program to start, which is the loader.
    pub program: PathBuf,
    /// Arguments for the loader, QEMU's program, and the path of its firmware. QEMU's other arguments
    /// follow.
    pub first_arguments: Vec<OsString>,
    /// The version of the Debian package.
    pub version: String,
}

impl Qemu {
    /// QEMU in the tree at `place`, with this record.
    pub(super) fn of(place: &Path, record: Record) -> Qemu {
        let libraries = LIBRARIES.map(|path| place.join(path).into_os_string());
        let mut first_arguments = vec![
            "--library-path".into(),
            libraries.join(":".as_ref()),
            place.join(PROGRAM).into(),
        ];
        let firmware = FIRMWARE.map(|path| place.join(path));
        for directory in firmware.into_iter().filter(|path| path.exists()) {
            first_arguments.extend(["-L".into(), directory.into()]);
        }
        Qemu {
            program: place.join(LOADER),
            first_arguments,
            version: record.version,
        }
    }
}

/// Moves the files to keep to `tree`.
pub fn lay_out(unpacked: &Path, tree: &Path) -> Result<(), Failure> {
    keep(&KEPT_PATHS, unpacked, tree)
}
