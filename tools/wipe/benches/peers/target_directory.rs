//! A filesystem in memory, with files and loop devices that are wiped.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Command;

use squall_testing::loops::Loop;
use squall_tools::Failure;
use squall_tools::failure::at;
use tempfile::TempDir;

/// A filesystem in memory, unmounted on drop.
pub struct TargetDirectory(TempDir);

impl TargetDirectory {
    /// Mounts a new filesystem.
    pub fn new() -> Result<TargetDirectory, Failure> {
        let directory = TempDir::new().map_err(at(&std::env::temp_dir()))?;
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=90%", "squall-wipe"])
            .arg(directory.path())
            .status();
        match mount {
            Ok(status) if status.success() => Ok(TargetDirectory(directory)),
            _ => Err(Failure::Runtime(
                "a filesystem in memory cannot be mounted: run this as root".into(),
            )),
        }
    }

    /// The path of the file `name`.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A file with all pages allocated.
    pub fn file(&self, name: &str, size: u64) -> PathBuf {
        let path = self.path(name);
        let file = File::create(&path).expect("a file");
        nix::fcntl::posix_fallocate(&file, 0, size as i64).expect("memory for a target");
        path
    }

    /// A loop device on a new file.
    pub fn device(&self, size: u64) -> Loop {
        let number = fs::read_dir(self.0.path()).map_or(0, Iterator::count);
        let file = self.file(&format!("image-{number}"), size);
        Loop::attach(&[], &file)
    }
}

impl Drop for TargetDirectory {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}
