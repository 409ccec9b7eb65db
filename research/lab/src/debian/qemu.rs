//! QEMU for each kind of CPU, with all dependencies including the C library, so that its own loader runs
//! it on any x86-64 Linux, from any directory.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use squall_tools::Failure;

use super::lists::{Architecture, Release};
use super::record::Record;
use super::staging::keep;

/// The Debian release of the package.
pub const RELEASE: Release = Release::Trixie;

/// The package of QEMU for these CPUs.
pub fn package(guest: Architecture) -> &'static str {
    match guest {
        Architecture::Amd64 => "qemu-system-x86",
        Architecture::Arm64 => "qemu-system-arm",
    }
}

fn program(guest: Architecture) -> &'static str {
    match guest {
        Architecture::Amd64 => "usr/bin/qemu-system-x86_64",
        Architecture::Arm64 => "usr/bin/qemu-system-aarch64",
    }
}

/// Files that the tree must have.
pub fn required_files(guest: Architecture) -> Vec<&'static str> {
    match guest {
        Architecture::Amd64 => vec![program(guest), LOADER, FIRMWARE[0]],
        Architecture::Arm64 => vec![program(guest), LOADER],
    }
}

const LOADER: &str = "usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2";
const LIBRARIES: [&str; 2] = ["usr/lib/x86_64-linux-gnu", "usr/lib"];
const FIRMWARE: [&str; 3] = ["usr/share/seabios", "usr/share/qemu", "usr/lib/ipxe/qemu"];

/// Files of the packages that are kept. The rest, such as set-user-ID programs, never leaves `part/`.
fn kept_paths(guest: Architecture) -> Vec<&'static str> {
    let mut paths = vec![program(guest), "usr/lib", "usr/share/qemu"];
    if guest == Architecture::Amd64 {
        paths.push("usr/share/seabios");
    }
    paths
}

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
    /// QEMU for these CPUs in the tree at `place`, with this record.
    pub(super) fn of(guest: Architecture, place: &Path, record: Record) -> Qemu {
        let libraries = LIBRARIES.map(|path| place.join(path).into_os_string());
        let mut first_arguments = vec![
            "--library-path".into(),
            libraries.join(":".as_ref()),
            place.join(program(guest)).into(),
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
pub fn lay_out(guest: Architecture, unpacked: &Path, tree: &Path) -> Result<(), Failure> {
    keep(&kept_paths(guest), unpacked, tree)
}
