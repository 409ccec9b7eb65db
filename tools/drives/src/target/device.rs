//! A block device as sysfs shows it.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::printable::printable_bytes;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Number {
    /// Belongs to the driver.
    pub major: u32,
    /// The driver gives it to the device.
    pub minor: u32,
}

impl Number {
    /// Decodes a device number as stat(2) and the device mapper give it.
    pub fn new(number: u64) -> Number {
        Number {
            major: rustix::fs::major(number),
            minor: rustix::fs::minor(number),
        }
    }

    /// Whether it is the number of a file system that has no device to itself.
    pub fn is_anonymous(self) -> bool {
        self.major == 0
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

impl FromStr for Number {
    type Err = io::Error;

    fn from_str(text: &str) -> io::Result<Number> {
        let numbers = text.split_once(':').and_then(|(major, minor)| {
            Some(Number {
                major: major.parse().ok()?,
                minor: minor.parse().ok()?,
            })
        });
        numbers.ok_or_else(|| io::Error::other(format!("{text:?} is not a device number")))
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Device {
    pub number: Number,
    /// Its directory in sysfs, with links resolved.
    directory: PathBuf,
}

impl Device {
    pub fn at(number: Number) -> io::Result<Device> {
        let directory = fs::canonicalize(format!("/sys/dev/block/{number}"))?;
        Ok(Device { number, directory })
    }

    /// The device whose directory in sysfs is `directory`, or what that links to.
    pub fn in_directory(directory: &Path) -> io::Result<Device> {
        let directory = fs::canonicalize(directory)?;
        let number = fs::read_to_string(directory.join("dev"))?.trim().parse()?;
        Ok(Device { number, directory })
    }

    /// All whole devices, without partitions.
    pub fn all() -> io::Result<Vec<Device>> {
        let directory = Path::new("/sys/block");
        // Without sysfs there may be any number of drives.
        fs::metadata(directory)?;
        devices_in(directory)
    }

    /// The path of `name` in the device's directory in sysfs.
    pub fn join(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// The kernel's name, such as `sda1`.
    pub fn name(&self) -> String {
        let name = self.directory.file_name().unwrap_or_default();
        // sysfs has `!` for the slash in names of devices in a subdirectory of /dev.
        name.to_string_lossy().replace('!', "/")
    }

    /// The kernel's name, with the device mapper's name for a mapped device: `dm-3 (vg-root)`.
    pub fn full_name(&self) -> String {
        match self.text("dm/name") {
            Some(mapped) => format!("{} ({mapped})", self.name()),
            None => self.name(),
        }
    }

    pub fn path(&self) -> PathBuf {
        Path::new("/dev").join(self.name())
    }

    /// Opens its node in /dev for reading. Fails with [`Errno::NODEV`] if the node belongs to another device.
    pub fn open(&self, flags: OFlags) -> Result<File, Errno> {
        let flags = flags | OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let open = || rustix::fs::open(self.path(), flags, Mode::empty());
        let node = rustix::io::retry_on_intr(open)?;
        match Number::new(rustix::fs::fstat(&node)?.st_rdev) == self.number {
            true => Ok(node.into()),
            false => Err(Errno::NODEV),
        }
    }

    /// The printable text of one of its files in sysfs, if there is any.
    pub fn text(&self, name: &str) -> Option<String> {
        text(&self.join(name))
    }

    /// The number in one of its files in sysfs.
    pub fn value(&self, name: &str) -> Option<u64> {
        self.text(name)?.parse().ok()
    }

    /// Whether its directory in sysfs contains `name`.
    pub fn has(&self, name: &str) -> bool {
        self.join(name).exists()
    }

    /// Whether the directory `name` in its directory in sysfs has entries.
    pub fn has_entries(&self, name: &str) -> bool {
        fs::read_dir(self.join(name)).is_ok_and(|mut entries| entries.next().is_some())
    }

    /// Length in bytes.
    pub fn size(&self) -> u64 {
        const UNIT: u64 = 512;
        self.value("size").unwrap_or(0) * UNIT
    }

    /// The partition number, if it is a partition.
    pub fn partition(&self) -> Option<u64> {
        self.value("partition")
    }

    /// The whole disk: the device itself, or the disk that it is a partition of.
    pub fn disk(&self) -> Device {
        self.partition()
            .and_then(|_| Device::in_directory(self.directory.parent()?).ok())
            .unwrap_or_else(|| self.clone())
    }

    pub fn partitions(&self) -> io::Result<Vec<Device>> {
        let mut partitions = devices_in(&self.directory)?;
        partitions.retain(|device| device.partition().is_some());
        Ok(partitions)
    }

    /// The kernel's sequence number of this attachment (diskseq); `None` before Linux 5.15.
    pub fn attachment(&self) -> Option<u64> {
        self.disk().value("diskseq")
    }
}

/// The devices whose directories are in `directory`, in the order of their numbers.
pub(crate) fn devices_in(directory: &Path) -> io::Result<Vec<Device>> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut devices = Vec::new();
    for entry in entries {
        let path = entry?.path();
        // Other entries are files, directories of something else, or devices that have just gone.
        if path.join("dev").exists() {
            devices.extend(Device::in_directory(&path).ok());
        }
    }
    devices.sort();
    Ok(devices)
}

/// The printable text of a file, if there is any.
pub(crate) fn text(path: &Path) -> Option<String> {
    printable_bytes(&fs::read(path).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_the_kernel_does() {
        let number: Number = "259:1048575".parse().unwrap();
        assert_eq!(number.to_string(), "259:1048575");
        let made = rustix::fs::makedev(259, 1_048_575);
        assert_eq!(Number::new(made), number);
        assert_eq!((number.major, number.minor), (259, 1_048_575));
        assert_eq!(Number::new(0xfd01).to_string(), "253:1");
        assert_eq!(Number::new(0x1230_fd45).to_string(), "253:74565");
        for wrong in ["", "8", "8:", ":1", "8:1:2", "8:x"] {
            assert!(wrong.parse::<Number>().is_err(), "{wrong}");
        }
    }
}
