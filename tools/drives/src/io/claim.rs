//! Whether an open target is ours alone, as far as the kernel tells: open file description locks
//! (as QEMU takes them on images), and for files a lease, which is given only to who alone has the
//! file open.

#![allow(unsafe_code)]

use std::fs::File;
use std::os::fd::AsRawFd;
use std::time::Duration;

use rustix::fs::FlockOperation;
use rustix::io::Errno;
use squall_tools::retry::retry;

/// F_SETSIG of asm-generic/fcntl.h.
const SET_SIGNAL: libc::c_int = 10;

/// How long somebody else may have it who is about to leave it: a process that was killed while
/// transfers were under way, or one that has just begun and has what its parent had.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Locks `file`, opened for writing, for as long as it is open. Fails with [`Errno::WOULDBLOCK`] if
/// somebody else has locked a byte of it, and if it is a regular file with [`Errno::BUSY`] if
/// somebody else has it open.
pub fn claim(file: &File, is_block: bool) -> Result<(), Errno> {
    after_others(|| {
        lock(file)?;
        if is_block { Ok(()) } else { is_alone(file) }
    })
}

/// Locks `file` by flock(2) for as long as it is open, as udev does, and whoever else must not look
/// into what is being overwritten. Fails with [`Errno::WOULDBLOCK`] if somebody else has.
pub fn reserve(file: &File) -> Result<(), Errno> {
    after_others(|| rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive))
}

/// Locks the block device `file` for as long as it is open, as those do who must not meet: udev by
/// flock(2), virtual machines by locks on bytes. Fails with [`Errno::WOULDBLOCK`] if somebody else
/// has.
pub fn hold(file: &File) -> Result<(), Errno> {
    reserve(file)?;
    claim(file, true)
}

/// What `attempt` comes to when whoever is about to leave has left.
fn after_others(attempt: impl Fn() -> Result<(), Errno>) -> Result<(), Errno> {
    retry(TIMEOUT, |_| true, attempt)
}

fn lock(file: &File) -> Result<(), Errno> {
    // From the first byte to the last there may ever be.
    match set_lock(file, libc::F_WRLCK, 0, 0) {
        Err(Errno::AGAIN | Errno::ACCESS) => Err(Errno::WOULDBLOCK),
        // Not every file system has locks.
        _ => Ok(()),
    }
}

/// Has `file` locked, in this way, for `len` bytes from `start` on.
fn set_lock(file: &File, kind: libc::c_int, start: i64, len: i64) -> Result<(), Errno> {
    let lock = libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: start,
        l_len: len,
        l_pid: 0,
    };
    // SAFETY: the descriptor is open while `file` is borrowed, and the request reads a flock, which
    // `lock` is until it returns.
    errno(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &lock) })
}

/// Whether nobody else has the regular file `file` open at this moment.
fn is_alone(file: &File) -> Result<(), Errno> {
    // Somebody who opens it before the lease is given up is told by a signal to us: not by SIGIO,
    // which would end this process, but by one that is ignored.
    set(file, SET_SIGNAL, libc::SIGURG)?;
    match set(file, libc::F_SETLEASE, libc::F_WRLCK) {
        Ok(()) => set(file, libc::F_SETLEASE, libc::F_UNLCK),
        Err(Errno::AGAIN) => Err(Errno::BUSY),
        // Not every file system has leases, nor may everybody take one.
        Err(_) => Ok(()),
    }
}

fn set(file: &File, request: libc::c_int, value: libc::c_int) -> Result<(), Errno> {
    // SAFETY: the descriptor is open while `file` is borrowed, and these requests take a number.
    errno(unsafe { libc::fcntl(file.as_raw_fd(), request, value) })
}

fn errno(answer: libc::c_int) -> Result<(), Errno> {
    match answer {
        -1 => Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::path::Path;

    use rustix::fs::{Mode, OFlags};

    use super::super::{Access, Device, Direct};
    use super::*;
    use crate::target::tests::find;
    use squall_testing::loops::Lab;

    fn writable(path: &Path) -> File {
        let mut options = OpenOptions::new();
        options.read(true).write(true).open(path).unwrap()
    }

    #[test]
    fn whoever_has_it_open_is_noticed() {
        let lab = Lab::new();
        let image = lab.image("image", 1 << 20);
        let ours = writable(&image);
        for open in [writable, |path: &Path| File::open(path).unwrap()] {
            let theirs = open(&image);
            assert_eq!(claim(&ours, false), Err(Errno::BUSY));
            assert_eq!(claim(&ours, true), Ok(()));
            drop(theirs);
            assert_eq!(claim(&ours, false), Ok(()));
        }
        // The lease is given up: nobody waits for it, as this one would not.
        let flags = OFlags::RDWR | OFlags::NONBLOCK;
        rustix::fs::open(&image, flags, Mode::empty()).unwrap();
    }

    #[test]
    fn a_target_is_claimed_when_it_is_opened() {
        let lab = Lab::new();
        let target = find(&lab.image("image", 1 << 20));
        let theirs = File::open(&target.identity.path).unwrap();
        let open = |access| Device::open(&target, access, Direct::Auto).map(drop);
        let text = open(Access::Write).unwrap_err().into_text();
        assert!(text.contains("somebody else is using it"), "{text}");
        open(Access::Read).unwrap();
        drop(theirs);
        open(Access::Write).unwrap();
    }

    #[test]
    fn a_lock_on_one_byte_is_noticed() {
        let lab = Lab::new();
        let image = lab.image("image", 1 << 20);
        let (ours, theirs) = (writable(&image), writable(&image));
        set_lock(&theirs, libc::F_RDLCK, 100, 1).unwrap();
        assert_eq!(claim(&ours, true), Err(Errno::WOULDBLOCK));
        drop(theirs);
        assert_eq!(claim(&ours, true), Ok(()));
        assert_eq!(claim(&writable(&image), true), Err(Errno::WOULDBLOCK));
    }

    /// As udev does while it looks into a drive, or systemd-repart while it makes partitions.
    #[test]
    fn a_drive_that_somebody_has_locked_is_left_alone() {
        let Some(lab) = Lab::or_skip() else { return };
        let device = lab.device(4 << 20);
        let target = find(&device.path);
        let open = |access| Device::open(&target, access, Direct::Auto).map(drop);
        let theirs = File::open(&device.path).unwrap();
        rustix::fs::flock(&theirs, FlockOperation::LockExclusive).unwrap();
        for access in [Access::Write, Access::Read] {
            let text = open(access).unwrap_err().into_text();
            assert!(text.contains("another process has locked it"), "{text}");
        }
        assert_eq!(hold(&writable(&device.path)), Err(Errno::WOULDBLOCK));
        drop(theirs);
        open(Access::Write).unwrap();
        open(Access::Read).unwrap();
        let ours = writable(&device.path);
        assert_eq!(hold(&ours), Ok(()));
        assert_eq!(hold(&writable(&device.path)), Err(Errno::WOULDBLOCK));
    }

    #[test]
    fn a_partition_that_somebody_has_open_is_noticed() {
        let Some(lab) = Lab::or_skip() else { return };
        let device = lab.device_with(&["--partscan"], 4 << 20);
        let part = device.part(1, 1 << 20, 1 << 20);
        let target = find(&device.path);
        let open = || Device::open(&target, Access::Write, Direct::Auto).map(drop);
        let theirs = File::open(&part.path).unwrap();
        let text = open().unwrap_err().into_text();
        assert!(text.contains("somebody else is using it"), "{text}");
        drop(theirs);
        open().unwrap();
        // The device's own table has no such partition.
        assert!(!part.path.exists());
        std::mem::forget(part);
    }
}
