//! What is wiped: files and loop devices in a filesystem in memory, and devices that the kernel makes as slow as disks.

use std::fs::{self, File};
use std::os::linux::fs::MetadataExt;
use std::path::{Path, PathBuf};
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

/// The directory of the blkio controller (cgroups, version 1), which limits the bytes that are written per second.
const CGROUP: &str = "/sys/fs/cgroup/blkio";

/// A cgroup with a limited rate, which this process and its children are in until it is dropped.
pub struct Throttle(PathBuf);

impl Throttle {
    /// Writes to each of `devices` at most `rate` bytes a second until this is dropped.
    pub fn begin(devices: &[Loop], rate: u64) -> Result<Throttle, Failure> {
        let group = Path::new(CGROUP).join(format!("squall-{}", std::process::id()));
        fs::create_dir(&group).map_err(at(&group))?;
        let throttle = Throttle(group);
        for device in devices {
            let about = fs::metadata(&device.path).map_err(at(&device.path))?;
            let (major, minor) = (about.st_rdev() >> 8 & 0xfff, about.st_rdev() & 0xff);
            let limit = format!("{major}:{minor} {rate}");
            throttle.set("blkio.throttle.write_bps_device", &limit)?;
        }
        throttle.set("cgroup.procs", &std::process::id().to_string())?;
        Ok(throttle)
    }

    fn set(&self, name: &str, value: &str) -> Result<(), Failure> {
        let path = self.0.join(name);
        fs::write(&path, value).map_err(at(&path))
    }
}

impl Drop for Throttle {
    fn drop(&mut self) {
        let all = Path::new(CGROUP).join("cgroup.procs");
        let _ = fs::write(all, std::process::id().to_string());
        let _ = fs::remove_dir(&self.0);
    }
}
