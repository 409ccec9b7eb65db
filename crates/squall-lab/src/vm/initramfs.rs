//! The initramfs of a guest: the probe as its first program, and the modules it loads.

use std::fs::File;
use std::io::Cursor;
use std::path::{Path, PathBuf};

use cpio::newc::{Builder, ModeFileType};
use squall_command::Failure;
use squall_command::failure::at;

/// Writes an initramfs to `path`: `probe` as /init, and `modules`, in the order they are to be
/// loaded in.
pub fn initramfs(path: &Path, probe: &Path, modules: &[PathBuf]) -> Result<(), Failure> {
    let mut entries = vec![
        directory("dev"),
        // Before the probe has mounted anything, the kernel opens it for the probe's messages.
        (
            entry("dev/console", ModeFileType::Char, 0o600)
                .rdev_major(5)
                .rdev_minor(1),
            Cursor::new(Vec::new()),
        ),
        program("init", probe)?,
        directory("modules"),
    ];
    for (number, module) in modules.iter().enumerate() {
        let name = module.file_name().unwrap_or_default().to_string_lossy();
        entries.push(program(&format!("modules/{number:02}-{name}"), module)?);
    }
    File::create(path)
        .and_then(|file| cpio::write_cpio(entries.into_iter(), file))
        .map(drop)
        .map_err(at(path))
}

type Entry = (Builder, Cursor<Vec<u8>>);

fn directory(name: &str) -> Entry {
    let entry = entry(name, ModeFileType::Directory, 0o755);
    (entry, Cursor::new(Vec::new()))
}

fn program(name: &str, file: &Path) -> Result<Entry, Failure> {
    let contents = std::fs::read(file).map_err(at(file))?;
    let entry = entry(name, ModeFileType::Regular, 0o755);
    Ok((entry, Cursor::new(contents)))
}

fn entry(name: &str, kind: ModeFileType, mode: u32) -> Builder {
    Builder::new(name).mode(mode).set_mode_file_type(kind)
}
