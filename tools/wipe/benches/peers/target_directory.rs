//! Where it is raced: a filesystem in memory of our own, with files and loop devices on it.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Command;

use squall_testing::loops::Loop;
use squall_tools::Failure;
use squall_tools::failure::at;
use tempfile::TempDir;

/// A directory in memory, which goes with this.
pub struct Field(TempDir);

impl Field {
    /// One, mounted.
    pub fn new() -> Result<Field, Failure> {
        let directory = TempDir::new().map_err(at(&std::env::temp_dir()))?;
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=90%", "squall-wipe"])
            .arg(directory.path())
            .status();
        match mount {
            Ok(status) if status.success() => Ok(Field(directory)),
            _ => Err(Failure::Runtime(
                "a filesystem in memory cannot be mounted: run as root".into(),
            )),
        }
    }

    /// A path in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A file, all of whose pages are there.
    pub fn file(&self, name: &str, size: u64) -> PathBuf {
        let path = self.path(name);
        let file = File::create(&path).expect("a file");
        nix::fcntl::posix_fallocate(&file, 0, size as i64).expect("memory for a target");
        path
    }

    /// A loop device on one.
    pub fn device(&self, size: u64) -> Loop {
        let number = fs::read_dir(self.0.path()).map_or(0, Iterator::count);
        let file = self.file(&format!("image-{number}"), size);
        Loop::attach(&[], &file)
    }
}

impl Drop for Field {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}
