//! A guest's initramfs, with the probe as its first program.

use std::path::{Path, PathBuf};

use squall_tools::Failure;

use super::doors::Doors;
use squall_guests::emulator::Initramfs;

/// The files in a guest's initramfs.
#[derive(Debug)]
pub struct Contents<'a> {
    /// The probe, which becomes /init.
    pub probe: &'a Path,
    /// The Go program that the probe starts, if any.
    pub go: Option<&'a Path>,
    /// The unmodified programs that the probe asks, if any.
    pub doors: Option<&'a Doors>,
    /// Kernel modules, in the order in which they are loaded.
    pub modules: &'a [PathBuf],
}

/// Writes an initramfs to `path`.
pub fn initramfs(path: &Path, contents: &Contents) -> Result<(), Failure> {
    let mut initramfs = Initramfs::new();
    initramfs.program("init", contents.probe)?;
    if let Some(go) = contents.go {
        initramfs.program("go-probe", go)?;
    }
    if let Some(doors) = contents.doors {
        doors.add(&mut initramfs)?;
    }
    initramfs.directory("modules");
    for (number, module) in contents.modules.iter().enumerate() {
        let name = module.file_name().unwrap_or_default().to_string_lossy();
        initramfs.program(&format!("modules/{number:02}-{name}"), module)?;
    }
    initramfs.write(path)
}
