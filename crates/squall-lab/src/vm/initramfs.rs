//! The initramfs of a guest: the probe as its first program, and what it starts and loads.

use std::path::{Path, PathBuf};

use squall_command::Failure;

use crate::emulator::Initramfs;

/// Writes an initramfs to `path`: `probe` as /init, the program in Go that it starts if there is
/// one, and `modules`, in the order they are to be loaded in.
pub fn initramfs(
    path: &Path,
    probe: &Path,
    go: Option<&Path>,
    modules: &[PathBuf],
) -> Result<(), Failure> {
    let mut initramfs = Initramfs::new();
    initramfs.program("init", probe)?;
    if let Some(go) = go {
        initramfs.program("go-probe", go)?;
    }
    initramfs.directory("modules");
    for (number, module) in modules.iter().enumerate() {
        let name = module.file_name().unwrap_or_default().to_string_lossy();
        initramfs.program(&format!("modules/{number:02}-{name}"), module)?;
    }
    initramfs.write(path)
}
