//! Builds the kernel module for a kernel of the lab, in a root directory that has this kernel's compiler
//! and headers.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use squall_tools::Failure;
use squall_tools::failure::at;
use tempfile::TempDir;

use super::build::ROOT;
use super::compiler;
use crate::debian::{Cache, KernelName};

/// The module's directory in the repository, and the name of its file.
const SOURCES: &str = "kernel";
const FILE: &str = "squall_vmgenid.ko";

/// The files that it is built from.
const PARTS: [&str; 2] = ["Kbuild", "squall_vmgenid.c"];

/// The message if there is no `unshare`.
const MISSING: &str = "unshare is missing: install util-linux";

/// Runs make in the compilers' root directory: `$1` is that directory, `$2` the contents of its
/// `/usr/src`, `$3` the module's sources, `$4` the headers' directory, `$5` non-empty for a copy of the
/// page. The mounts are in a namespace of their own and end with it.
const BUILD: &str = r#"
PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount --rbind /dev "$1/dev"
mount --rbind /proc "$1/proc"
mount --rbind "$2" "$1/usr/src"
mount --rbind "$3" "$1/module"
exec chroot "$1" /usr/bin/env -i PATH=/usr/bin DEB_BUILD_ARCH=amd64 DEB_HOST_ARCH=amd64 \
    make -s -C "/usr/src/$4" M=/module "COPY=$5" modules
"#;

/// Builds the module for the cached kernel `kernel` at `path`: it shows vmgenid's page, or else a copy
/// of the page that never changes.
pub fn module(
    cache: &Cache,
    kernel: KernelName,
    shows_copy: bool,
    path: &Path,
) -> Result<(), Failure> {
    let (compilers, kernel) = (cache.compiler()?, cache.kernel(kernel)?);
    let work = TempDir::new().map_err(at(&std::env::temp_dir()))?;
    for part in PARTS {
        let from = Path::new(ROOT).join(SOURCES).join(part);
        fs::copy(&from, work.path().join(part)).map_err(at(&from))?;
    }
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private"]);
    if !is_root()? {
        command.arg("--map-root-user");
    }
    command.args(["--", "/bin/sh", "-euc", BUILD, "sh"]);
    command
        .arg(&compilers)
        .arg(&kernel.headers)
        .arg(work.path());
    command.arg(format!("linux-headers-{}", kernel.release));
    command.arg(if shows_copy { "1" } else { "" });
    command.env("LC_ALL", "C");
    compiler::build(&mut command, FILE, MISSING, |line| line.contains("rror"))?;
    fs::copy(work.path().join(FILE), path)
        .map(drop)
        .map_err(at(path))
}

fn is_root() -> Result<bool, Failure> {
    let this = Path::new("/proc/self");
    let owner = this.metadata().map_err(at(this))?.uid();
    Ok(owner == 0)
}
