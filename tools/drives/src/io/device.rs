//! A target opened exclusively, and past the page cache where it allows that.

use std::fs::File;
use std::io::{self, IoSlice};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use clap::ValueEnum;
use rustix::fs::{Advice, Mode, OFlags};
use rustix::io::{Errno, ReadWriteFlags};
use squall_tool_base::Failure;
use squall_tool_base::retry::retry;

use super::claim::{self, why};
use super::other_paths::{OtherPaths, is_other_path_of_ours};
use super::queue::Queue;
use super::transfer::{Buffer, Direction};
use crate::target::length;
use crate::{Kind, Target, guards};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// For overwriting, and for reading back to compare.
    Write,
    /// Like `Write`, for a drive that sanitizes itself and serves no reads and writes until then. Nothing is
    /// read from it before [`Device::check_partitions`].
    WriteLater,
    Read,
}

/// Whether transfers go past the page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Direct {
    /// Where the target allows it
    Auto,
    /// Always: a target that does not allow it is refused
    On,
    /// Never: what was written is flushed and dropped from the cache before it is verified
    Off,
}

pub struct Device {
    target: Target,
    file: Arc<File>,
    /// The same file through the page cache, for the bytes after the last whole unit, if there are any.
    tail: Option<File>,
    unit: u64,
    /// Whether [`Device::check_partitions`] has something to check.
    is_unread: bool,
    /// The same medium by its other paths, so that nobody uses it by those.
    other_paths: OtherPaths,
}

impl Device {
    /// Opens `target` to read it. Only a [`Confirmed`](crate::Confirmed) one is opened to be written.
    pub fn open_to_read(target: Target, direct: Direct) -> Result<Device, Failure> {
        Device::open(target, Access::Read, direct)
    }

    /// Opens `target`, if it is still the same one and nobody else uses it.
    pub(crate) fn open(target: Target, access: Access, direct: Direct) -> Result<Device, Failure> {
        let identity = &target.identity;
        let is_block = identity.kind != Kind::File;
        let at = |error: Errno| cannot_open(&target, access, &error);
        // Processes that only look at drives hold each for a moment.
        let passes = |error: &Errno| *error == Errno::BUSY && guards::claim(&target).is_none();
        let opened = match direct {
            Direct::Off => None,
            Direct::Auto | Direct::On => {
                let open = || open_direct(&target, access);
                retry(claim::CLAIM_TIMEOUT, passes, open).map_err(at)?
            }
        };
        if opened.is_none() && direct == Direct::On {
            return Err(Failure::Runtime(format!(
                "{}: it does not support transfers past the page cache: use --direct auto",
                identity.path.display()
            )));
        }
        let is_direct = opened.is_some();
        let file = match opened {
            Some(file) => file,
            None => {
                let open = || open(&identity.path, access, is_block, OFlags::empty());
                retry(claim::CLAIM_TIMEOUT, passes, open).map_err(at)?
            }
        };
        target.confirm(&file)?;
        let other_paths = OtherPaths::claim(&target);
        let other_paths = other_paths.map_err(|why| {
            let why = guards::claim(&target).unwrap_or(why);
            refused(&target, access, &why)
        })?;
        if is_block && access == Access::Write {
            // A process that has a partition open could overwrite what we write. Devices that have
            // no partitions do not know this request.
            match claim::reread_partitions_in_time(&file) {
                Err(Errno::BUSY) => return Err(at(Errno::BUSY)),
                _ => target.confirm(&file)?,
            }
            other_paths.reread_partitions().map_err(at)?;
        }
        claim::reserve(&file).map_err(at)?;
        if access != Access::Read {
            claim::claim(&file, is_block).map_err(at)?;
        }
        let unit = if is_direct {
            u64::from(identity.sector)
        } else {
            1
        };
        let tail = match identity.size.is_multiple_of(unit) {
            true => None,
            // `file` has already claimed the target.
            false => Some(open(&identity.path, access, false, OFlags::empty()).map_err(at)?),
        };
        if let Some(tail) = &tail {
            target.confirm(tail)?;
        }
        Ok(Device {
            file: Arc::new(file),
            tail,
            unit,
            is_unread: is_block && access == Access::WriteLater,
            other_paths,
            target,
        })
    }

    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Fails if the device was opened for writing later, and another process has a partition of it open.
    pub fn check_partitions(&self) -> io::Result<()> {
        if !self.is_unread {
            return Ok(());
        }
        match claim::reread_partitions_in_time(&self.file) {
            Err(Errno::BUSY) => Err(Errno::BUSY.into()),
            _ => Ok(self.other_paths.reread_partitions()?),
        }
    }

    /// Closes it, and keeps only the claims on the other paths to its medium.
    pub fn into_other_paths(self) -> OtherPaths {
        self.other_paths
    }

    /// The open file, for requests other than transfers.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// The length in bytes that it has now, which may not be the one that it was opened with.
    pub fn length(&self) -> io::Result<u64> {
        length(&self.file)
    }

    /// Whether transfers go past the page cache.
    pub fn is_direct(&self) -> bool {
        self.unit > 1
    }

    /// The end of the last whole unit. A [`Queue`] takes only transfers before it.
    pub fn end_of_units(&self) -> u64 {
        let size = self.target.identity.size;
        size - size % self.unit
    }

    pub fn queue(&self, depth: usize) -> io::Result<Queue> {
        let waits = !(self.is_direct() && self.target.device().is_some());
        Queue::open(self.file.clone(), depth, waits)
    }

    /// Transfers all of `bytes`, one request at a time.
    pub fn transfer(
        &self,
        direction: Direction,
        mut bytes: &mut [u8],
        mut offset: u64,
    ) -> io::Result<()> {
        while !bytes.is_empty() {
            let file = match &self.tail {
                Some(tail) if offset >= self.end_of_units() => tail,
                _ => &self.file,
            };
            let done = match direction {
                Direction::Write => self.write_through(file, bytes, offset),
                Direction::Read => file.read_at(bytes, offset),
            };
            match done {
                Ok(0) => return Err(Errno::IO.into()),
                Ok(done) => {
                    bytes = &mut bytes[done..];
                    offset += done as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Writes to the medium, even if through the page cache, so that errors show.
    fn write_through(&self, file: &File, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let flags = if self.is_direct() {
            ReadWriteFlags::empty()
        } else {
            ReadWriteFlags::DSYNC
        };
        let parts = [IoSlice::new(bytes)];
        Ok(rustix::io::pwritev2(file, &parts, offset, flags)?)
    }

    /// Waits until everything written is on the medium, and not only in a cache of the drive.
    pub fn flush(&self) -> io::Result<()> {
        rustix::io::retry_on_intr(|| rustix::fs::fdatasync(&self.file))?;
        Ok(())
    }

    /// Drops the target's pages from the page cache, so that reads come from the medium.
    pub fn drop_cached_pages(&self) -> io::Result<()> {
        rustix::fs::fadvise(&self.file, 0, None, Advice::DontNeed)?;
        Ok(())
    }

    /// Makes the kernel forget the partitions, which have been overwritten.
    pub fn forget_partitions(&self) {
        if self.target.device().is_some() {
            claim::forget_partitions(&self.file);
            self.other_paths.forget_partitions();
        }
    }
}

/// Opens `target` for transfers past the page cache; `None` if it does not support them.
fn open_direct(target: &Target, access: Access) -> Result<Option<File>, Errno> {
    let identity = &target.identity;
    let is_block = identity.kind != Kind::File;
    let file = match open(&identity.path, access, is_block, OFlags::DIRECT) {
        Ok(file) => file,
        Err(Errno::INVAL | Errno::OPNOTSUPP) => return Ok(None),
        Err(error) => return Err(error),
    };
    if is_block {
        return Ok(Some(file));
    }
    // Some filesystems accept the flag and refuse only the transfer.
    let mut buffer = Buffer::new(identity.sector as usize);
    match rustix::io::pread(&file, &mut buffer[..], 0) {
        Err(Errno::INVAL | Errno::OPNOTSUPP) => Ok(None),
        _ => Ok(Some(file)),
    }
}

fn open(path: &Path, access: Access, is_block: bool, flags: OFlags) -> Result<File, Errno> {
    let access = match access {
        Access::Write | Access::WriteLater => OFlags::RDWR,
        Access::Read => OFlags::RDONLY,
    };
    // On a block device, O_EXCL without O_CREAT claims it as a mount does (open(2)).
    let exclusive = if is_block {
        OFlags::EXCL
    } else {
        OFlags::NOFOLLOW
    };
    let flags = flags | access | exclusive | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = rustix::io::retry_on_intr(|| rustix::fs::open(path, flags, Mode::empty()))?;
    rustix::fs::fcntl_setfl(&file, flags & (OFlags::DIRECT | OFlags::RDWR))?;
    Ok(file.into())
}

/// Why `target` cannot be opened exclusively at this moment, by this path to its medium; `None` if it can. It is opened
/// for reading only, and closed again.
pub(crate) fn claim_on_target(target: &Target) -> Option<String> {
    let is_block = target.identity.kind != Kind::File;
    let opened = open(
        &target.identity.path,
        Access::Read,
        is_block,
        OFlags::empty(),
    );
    let claimed = opened.and_then(|file| claim::try_claim(&file, is_block));
    claimed.err().map(|error| why(&error))
}

/// The failure for a target that cannot be opened. Nothing has been written at that point.
fn cannot_open(target: &Target, access: Access, error: &Errno) -> Failure {
    if *error == Errno::BUSY && is_other_path_of_ours(target) {
        return refused(
            target,
            access,
            "another path to this drive is named, too: name only one",
        );
    }
    let claim = (*error == Errno::BUSY).then(|| guards::claim(target));
    refused(
        target,
        access,
        &claim.flatten().unwrap_or_else(|| why(error)),
    )
}

fn refused(target: &Target, access: Access, why: &str) -> Failure {
    let end = match access {
        Access::Read => "",
        Access::Write | Access::WriteLater => "; nothing was written",
    };
    Failure::Runtime(format!("{}: {why}{end}", target.identity.path.display()))
}
