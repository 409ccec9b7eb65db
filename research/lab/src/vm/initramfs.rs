//! The initramfs of a guest: the probe as its first program, and what it starts and loads.

use std::path::{Path, PathBuf};

use squall_tools::Failure;

use super::doors::Doors;
use crate::emulator::Initramfs;

/// What a guest finds.
#[derive(Debug)]
pub struct Contents<'a> {
    /// The probe, which is /init.
    pub probe: &'a Path,
    /// The program in Go that it starts, if it is to.
    pub go: Option<&'a Path>,
    /// The programs that it asks, if it is to.
    pub doors: Option<&'a Doors>,
    /// Modules, in the order they are to be loaded in.
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
