//! Writes a guest's initramfs, which its kernel unpacks to start the first program.

use std::collections::BTreeSet;
use std::fs::{self, File, Metadata};
use std::io::{self, Cursor};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use cpio::newc::{Builder, ModeFileType};
use squall_tool_base::Failure;
use squall_tool_base::failure::at;

/// An archive's entries in the order in which the kernel creates them: a directory before its contents.
#[derive(Default)]
pub struct Initramfs {
    entries: Vec<(Builder, Cursor<Vec<u8>>)>,
    directories: BTreeSet<String>,
}

impl Initramfs {
    /// An archive with a console, which the kernel opens for the first program's messages before
    /// anything is mounted.
    pub fn new() -> Initramfs {
        let mut initramfs = Initramfs::default();
        initramfs.add_parents("dev/console");
        let console = entry("dev/console", ModeFileType::Char, 0o600);
        let console = console.rdev_major(5).rdev_minor(1);
        initramfs.entries.push((console, Cursor::default()));
        initramfs
    }

    /// Adds an empty directory and its parents, unless they exist.
    pub fn directory(&mut self, name: &str) {
        self.add_parents(name);
        if self.directories.insert(name.to_owned()) {
            let entry = entry(name, ModeFileType::Directory, 0o755);
            self.entries.push((entry, Cursor::default()));
        }
    }

    /// Adds the parent directories of `name`.
    fn add_parents(&mut self, name: &str) {
        if let Some((directory, _)) = name.rsplit_once('/') {
            self.directory(directory);
        }
    }

    fn push(&mut self, name: &str, kind: ModeFileType, mode: u32, contents: Vec<u8>) {
        self.add_parents(name);
        self.entries
            .push((entry(name, kind, mode), Cursor::new(contents)));
    }

    /// Adds a symbolic link.
    pub fn link(&mut self, name: &str, target: &Path) {
        let target = target.as_os_str().as_bytes().to_vec();
        self.push(name, ModeFileType::Symlink, 0o777, target);
    }

    /// Adds an executable file with these contents.
    pub fn contents(&mut self, name: &str, contents: Vec<u8>) {
        self.push(name, ModeFileType::Regular, 0o755, contents);
    }

    /// Adds an executable file with the contents of `file`.
    pub fn program(&mut self, name: &str, file: &Path) -> Result<(), Failure> {
        self.contents(name, fs::read(file).map_err(at(file))?);
        Ok(())
    }

    /// Adds a file, a link, or a directory with everything in it.
    pub fn tree(&mut self, name: &str, path: &Path) -> Result<(), Failure> {
        let metadata = fs::symlink_metadata(path).map_err(at(path))?;
        self.copy(name, path, &metadata).map_err(at(path))
    }

    fn copy(&mut self, name: &str, path: &Path, metadata: &Metadata) -> io::Result<()> {
        if metadata.is_symlink() {
            self.link(name, &fs::read_link(path)?);
        } else if metadata.is_dir() {
            self.directory(name);
            let mut entries = fs::read_dir(path)?.collect::<io::Result<Vec<_>>>()?;
            entries.sort_by_key(|entry| entry.file_name());
            for inner in entries {
                let name = format!("{name}/{}", inner.file_name().to_string_lossy());
                self.copy(&name, &inner.path(), &inner.metadata()?)?;
            }
        } else {
            let mode = metadata.permissions().mode() & 0o777;
            self.push(name, ModeFileType::Regular, mode, fs::read(path)?);
        }
        Ok(())
    }

    /// Writes the archive to `path`.
    pub fn write(self, path: &Path) -> Result<(), Failure> {
        File::create(path)
            .and_then(|file| cpio::write_cpio(self.entries.into_iter(), file))
            .map(drop)
            .map_err(at(path))
    }
}

fn entry(name: &str, kind: ModeFileType, mode: u32) -> Builder {
    Builder::new(name).mode(mode).set_mode_file_type(kind)
}
