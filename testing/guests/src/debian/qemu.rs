//! QEMU for each kind of CPU, with all dependencies including the C library, so that its own loader runs
//! it on any x86-64 Linux, from any directory.

use std::ffi::OsString;
use std::path::PathBuf;

use super::userland::{LIBRARIES, LOADER};
use super::{Architecture, Tree};

const FIRMWARE: [&str; 3] = ["usr/share/seabios", "usr/share/qemu", "usr/lib/ipxe/qemu"];

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
    /// QEMU for these CPUs in `tree`.
    pub(super) fn of(guest: Architecture, tree: &Tree) -> Qemu {
        let program = match guest {
            Architecture::Amd64 => "usr/bin/qemu-system-x86_64",
            Architecture::Arm64 => "usr/bin/qemu-system-aarch64",
        };
        let libraries = [LIBRARIES, "usr/lib"].map(|path| tree.place.join(path).into_os_string());
        let mut first_arguments = vec![
            "--library-path".into(),
            libraries.join(":".as_ref()),
            tree.place.join(program).into(),
        ];
        let firmware = FIRMWARE.map(|path| tree.place.join(path));
        for directory in firmware.into_iter().filter(|path| path.exists()) {
            first_arguments.extend(["-L".into(), directory.into()]);
        }
        Qemu {
            program: tree.place.join(LOADER),
            first_arguments,
            version: tree.field("version"),
        }
    }
}
