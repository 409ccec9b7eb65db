//! QEMU with all it needs, the C library too, so that it runs on any x86-64 Linux: by its own
//! loader, out of any directory.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use squall_tools::Failure;

use super::lists::Release;
use super::record::Record;
use super::unfinished::keep;

/// The release of Debian that it comes from.
pub const RELEASE: Release = Release::Trixie;

/// The package.
pub const PACKAGE: &str = "qemu-system-x86";

/// What a tree must have.
pub const PARTS: [&str; 3] = [PROGRAM, LOADER, FIRMWARE[0]];

const PROGRAM: &str = "usr/bin/qemu-system-x86_64";
const LOADER: &str = "usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2";
const LIBRARIES: [&str; 2] = ["usr/lib/x86_64-linux-gnu", "usr/lib"];
const FIRMWARE: [&str; 3] = ["usr/share/seabios", "usr/share/qemu", "usr/lib/ipxe/qemu"];

/// What is kept of the packages. The rest, such as set-user-ID programs, never leaves the part.
const KEPT: [&str; 4] = [PROGRAM, "usr/lib", "usr/share/qemu", "usr/share/seabios"];

/// The suite that it comes from.
pub fn suite() -> &'static str {
    RELEASE.backports()
}

/// QEMU in the cache.
#[derive(Debug)]
pub struct Qemu {
    /// What to start: the loader.
    pub program: PathBuf,
    /// What the loader needs to know, QEMU's program, and where its firmware is; QEMU's own
    /// arguments follow.
    pub first_arguments: Vec<OsString>,
    /// Of the Debian package.
    pub version: String,
}

impl Qemu {
    /// QEMU of the tree at `place`, which has this record.
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

/// Moves what is kept to `tree`.
pub fn lay_out(unpacked: &Path, tree: &Path) -> Result<(), Failure> {
    keep(&KEPT, unpacked, tree)
}
