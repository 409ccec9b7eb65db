//! Opens a block device by its number, even on machines where nobody makes nodes for devices.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, makedev, mknodat, unlink};
use rustix::io::Errno;
use squall_drives::Number;

/// Opens the block device `number`.
pub fn open(number: Number, flags: OFlags) -> io::Result<File> {
    let given = devtmpfs_node(number).map(|path| open_at(&path, number, flags));
    match given {
        Some(Ok(Some(file))) => Ok(file),
        Some(Err(error)) if error != Errno::NOENT => Err(error.into()),
        _ => open_own(number, flags),
    }
}

/// The node that the kernel makes for it if devtmpfs is mounted at /dev.
fn devtmpfs_node(number: Number) -> Option<PathBuf> {
    let about = std::fs::read_to_string(format!("/sys/dev/block/{number}/uevent")).ok()?;
    let name = about
        .lines()
        .find_map(|line| line.strip_prefix("DEVNAME="))?;
    Some(Path::new("/dev").join(name))
}

/// Opens the node at `path`; `None` if it belongs to another device.
fn open_at(path: &Path, number: Number, flags: OFlags) -> Result<Option<File>, Errno> {
    let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let file: File =
        rustix::io::retry_on_intr(|| rustix::fs::open(path, flags, Mode::empty()))?.into();
    let is_it = file
        .metadata()
        .is_ok_and(|metadata| Number::new(metadata.rdev()) == number);
    Ok(is_it.then_some(file))
}

/// Opens a temporary node of our own.
fn open_own(number: Number, flags: OFlags) -> io::Result<File> {
    let path = format!("/dev/.squall-{}-{}", std::process::id(), number.minor());
    let path = Path::new(&path);
    let dev = makedev(number.major(), number.minor());
    let mode = Mode::RUSR | Mode::WUSR;
    // A killed process with the same id may have left one.
    let _ = unlink(path);
    mknodat(CWD, path, FileType::BlockDevice, mode, dev)?;
    let opened = open_at(path, number, flags);
    unlink(path)?;
    opened?.ok_or_else(|| Errno::NXIO.into())
}
