//! Finds where devices are mounted, from /proc/self/mountinfo, and what is used as swap, from /proc/swaps.
//!
//! Some file systems show a number of their own and not their device's. For these, the source names the
//! device. A btrfs may be on several devices, of which its source is only one; sysfs lists all of them.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use squall_tool_base::Failure;
use squall_tool_base::failure::at;

use crate::target::Inode;
use crate::target::device::{Device, Number, devices_in};

const MOUNTS: &str = "/proc/self/mountinfo";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mount {
    pub point: PathBuf,
    /// The devices that it is on; empty if it is on none.
    pub devices: Vec<Number>,
}

pub(super) fn all() -> Result<Vec<Mount>, Failure> {
    let text = fs::read(MOUNTS).map_err(at(Path::new(MOUNTS)))?;
    let pools = btrfs_pools();
    let mount = |line: &[u8]| {
        let (number, point, source) = parse(line).ok_or_else(|| {
            let line = String::from_utf8_lossy(line);
            Failure::Runtime(format!("{MOUNTS}: cannot parse {line:?}"))
        })?;
        let device = match number.is_anonymous() {
            true => source_device(&source),
            false => Some(number),
        };
        let pool = device.and_then(|device| pools.iter().find(|pool| pool.contains(&device)));
        let devices = pool.cloned();
        Ok(Mount {
            point,
            devices: devices.unwrap_or_else(|| device.into_iter().collect()),
        })
    };
    let lines = text.split(|&byte| byte == b'\n');
    lines.filter(|line| !line.is_empty()).map(mount).collect()
}

/// The device number, the mount point and the source in a line of mountinfo.
fn parse(line: &[u8]) -> Option<(Number, PathBuf, PathBuf)> {
    let fields: Vec<&[u8]> = line.split(|&byte| byte == b' ').collect();
    // Any number of optional fields stand before the separator.
    let separator = fields.iter().skip(6).position(|field| *field == b"-")? + 6;
    let number = str::from_utf8(fields.get(2)?).ok()?.parse().ok()?;
    Some((
        number,
        path(fields.get(4)?),
        path(fields.get(separator + 2)?),
    ))
}

/// The device that `source` names, if it is one.
fn source_device(source: &Path) -> Option<Number> {
    // Other sources are plain words, which must not be resolved in the working directory.
    let metadata = source.is_absolute().then(|| fs::metadata(source).ok())??;
    let is_device = metadata.file_type().is_block_device();
    is_device.then(|| Number::new(metadata.rdev()))
}

/// The devices of each mounted btrfs.
fn btrfs_pools() -> Vec<Vec<Number>> {
    let pools = fs::read_dir("/sys/fs/btrfs")
        .into_iter()
        .flatten()
        .flatten();
    pools
        .filter_map(|pool| devices_in(&pool.path().join("devices")).ok())
        .map(|devices: Vec<Device>| devices.iter().map(|device| device.number).collect())
        .collect()
}

/// Decodes a path from a file of /proc: `\040` is a blank.
fn path(escaped: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(escaped.len());
    let mut rest = escaped;
    while let Some((&first, behind)) = rest.split_first() {
        let (byte, next) = match rest {
            [
                b'\\',
                a @ b'0'..=b'3',
                b @ b'0'..=b'7',
                c @ b'0'..=b'7',
                next @ ..,
            ] => ((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'), next),
            _ => (first, behind),
        };
        bytes.push(byte);
        rest = next;
    }
    OsString::from_vec(bytes).into()
}

const SWAPS: &str = "/proc/swaps";

#[derive(Debug, Default)]
pub(super) struct Swap {
    pub devices: Vec<Number>,
    pub files: Vec<Inode>,
}

pub(super) fn swap() -> Result<Swap, Failure> {
    let text = match fs::read(SWAPS) {
        // A kernel without swap.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Swap::default()),
        text => text.map_err(at(Path::new(SWAPS)))?,
    };
    let mut swap = Swap::default();
    for line in text.split(|&byte| byte == b'\n').skip(1) {
        let name = line.split(|byte| b" \t".contains(byte)).next();
        // Swap that has no name here is caught when the target is opened.
        let Ok(metadata) = fs::metadata(path(name.unwrap_or_default())) else {
            continue;
        };
        if metadata.file_type().is_block_device() {
            swap.devices.push(Number::new(metadata.rdev()))
        } else {
            swap.files.push(Inode::from_metadata(&metadata))
        }
    }
    Ok(swap)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_mountinfo() {
        let lines = [
            "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard",
            "36 35 98:0 /mnt1 /a\\040b\\011\\134040 rw shared:1 master:2 - ext3 /dev/root rw",
            "98 2 0:44 / / rw shared:1 - btrfs /dev/sda3 rw,subvolid=256",
            "40 2 0:50 / /x rw -  tmpfs rw",
        ];
        let expected = [
            ("254:0", "/", "/dev/vda"),
            ("98:0", "/a b\t\\040", "/dev/root"),
            ("0:44", "/", "/dev/sda3"),
            ("0:50", "/x", "tmpfs"),
        ];
        for (line, (number, point, source)) in lines.iter().zip(expected) {
            let expected = (number.parse().unwrap(), point.into(), source.into());
            assert_eq!(parse(line.as_bytes()), Some(expected), "{line}");
        }
        for wrong in [
            "",
            "27 1 254:0 / / rw",
            "27 1 254 / / rw - ext4 /dev/vda rw",
        ] {
            assert_eq!(parse(wrong.as_bytes()), None, "{wrong}");
        }
    }

    #[test]
    fn escapes_are_octal() {
        let cases: [(&str, &str); 4] = [
            ("/a\\040b", "/a b"),
            ("/a\\012\\134", "/a\n\\"),
            ("/\\04", "/\\04"),
            ("/\\303\\244\\", "/ä\\"),
        ];
        for (escaped, expected) in cases {
            assert_eq!(path(escaped.as_bytes()), Path::new(expected), "{escaped}");
        }
    }
}
