//! Makes devices as slow as disks, by the kernel's limit on bytes written per second (blkio of cgroups,
//! version 1).

use std::fs;
use std::os::linux::fs::MetadataExt;
use std::path::{Path, PathBuf};

use squall_testing::loops::Loop;
use squall_tools::Failure;
use squall_tools::failure::at;

/// The directory of the blkio controller.
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
            throttle.set(
                "blkio.throttle.write_bps_device",
                &format!("{major}:{minor} {rate}"),
            )?;
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
        let _ = fs::write(
            Path::new(CGROUP).join("cgroup.procs"),
            std::process::id().to_string(),
        );
        let _ = fs::remove_dir(&self.0);
    }
}
