//! Checks that nobody else uses an open target, as far as the kernel can tell. It takes an open file
//! description lock, as QEMU does on images, and for files also a lease, which the kernel grants only
//! while nobody else has the file open.

#![allow(unsafe_code)]

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use rustix::fs::FlockOperation;
use rustix::io::Errno;
use rustix::ioctl::{NoArg, Opcode, ioctl, opcode};
use squall_tool_base::failure::cause;
use squall_tool_base::retry::retry;

/// F_SETSIG of asm-generic/fcntl.h.
const SET_SIGNAL: libc::c_int = 10;

/// How long to wait for a process that is about to close the target: one that was killed during
/// transfers, or a new child that still has its parent's files open.
pub const CLAIM_TIMEOUT: Duration = Duration::from_secs(2);

/// Locks `file`, which must be open for writing, for as long as it is open. Fails with
/// [`Errno::WOULDBLOCK`] if somebody else has locked a byte of it, and with [`Errno::BUSY`] if it
/// is a regular file that somebody else has open.
pub fn claim(file: &File, is_block: bool) -> Result<(), Errno> {
    retry_until_timeout(|| {
        lock(file)?;
        if is_block {
            Ok(())
        } else {
            check_nobody_has_it_open(file)
        }
    })
}

/// Locks `file` with flock(2) for as long as it is open. udev and other programs that respect this
/// lock then leave the drive alone. Fails with [`Errno::WOULDBLOCK`] if somebody else holds it.
pub fn reserve(file: &File) -> Result<(), Errno> {
    retry_until_timeout(|| rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive))
}

/// Locks the block device `file` for as long as it is open, both with flock(2), as udev does, and
/// with locks on bytes, as virtual machines do. Fails with [`Errno::WOULDBLOCK`] if somebody else
/// holds either.
pub fn hold(file: &File) -> Result<(), Errno> {
    reserve(file)?;
    claim(file, true)
}

/// Fails as [`hold`] or, for a regular file, [`claim`] would at this moment, if `file` is open for reading. Does not
/// wait, and keeps only the lock of flock(2).
pub fn try_claim(file: &File, is_block: bool) -> Result<(), Errno> {
    rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive)?;
    let mut lock = lock_of(libc::F_WRLCK, 0, 0);
    // SAFETY: the descriptor is open while `file` is borrowed. The request reads and writes a `flock`, and `lock` is one
    // until the call returns.
    let asked = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_GETLK, &mut lock) };
    // Not every file system supports locks.
    if errno(asked).is_ok() && lock.l_type != libc::F_UNLCK as libc::c_short {
        return Err(Errno::WOULDBLOCK);
    }
    match is_block {
        true => Ok(()),
        false => check_nobody_has_it_open(file),
    }
}

/// Repeats `attempt` until it succeeds, for up to [`CLAIM_TIMEOUT`].
fn retry_until_timeout(attempt: impl Fn() -> Result<(), Errno>) -> Result<(), Errno> {
    retry(CLAIM_TIMEOUT, |_| true, attempt)
}

fn lock(file: &File) -> Result<(), Errno> {
    // A length of zero locks up to the highest possible offset.
    match set_lock(file, libc::F_WRLCK, 0, 0) {
        Err(Errno::AGAIN | Errno::ACCESS) => Err(Errno::WOULDBLOCK),
        // Not every file system supports locks.
        _ => Ok(()),
    }
}

/// Sets a lock of type `kind` on `len` bytes of `file` from `start` on.
fn set_lock(file: &File, kind: libc::c_int, start: i64, len: i64) -> Result<(), Errno> {
    let lock = lock_of(kind, start, len);
    // SAFETY: the descriptor is open while `file` is borrowed. The request reads a `flock`, and
    // `lock` is one until the call returns.
    errno(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &lock) })
}

fn lock_of(kind: libc::c_int, start: i64, len: i64) -> libc::flock {
    libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: start,
        l_len: len,
        l_pid: 0,
    }
}

/// Fails with [`Errno::BUSY`] if somebody else has the regular file `file` open at this moment.
fn check_nobody_has_it_open(file: &File) -> Result<(), Errno> {
    // If somebody opens the file while we hold the lease, the kernel sends us a signal. SIGIO, the
    // default, would end this process, so we choose one that is ignored.
    set(file, SET_SIGNAL, libc::SIGURG)?;
    match set(file, libc::F_SETLEASE, libc::F_WRLCK) {
        Ok(()) => set(file, libc::F_SETLEASE, libc::F_UNLCK),
        Err(Errno::AGAIN) => Err(Errno::BUSY),
        // Not every file system supports leases, and not every process may take one.
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

/// Makes the kernel read the partition table again.
fn reread_partitions(drive: impl AsFd) -> rustix::io::Result<()> {
    /// BLKRRPART of linux/fs.h.
    const REREAD: Opcode = opcode::none(0x12, 95);
    // SAFETY: this request takes no argument.
    unsafe { ioctl(drive, NoArg::<REREAD>::new()) }
}

/// Makes the kernel read the partition table of `drive` again. Fails with [`Errno::BUSY`] if somebody keeps a partition
/// open.
pub fn reread_partitions_in_time(drive: &File) -> Result<(), Errno> {
    let is_busy = |error: &Errno| *error == Errno::BUSY;
    retry(CLAIM_TIMEOUT, is_busy, || reread_partitions(drive))
}

/// Makes the kernel drop the partitions of a drive whose table is gone.
pub fn forget_partitions(drive: impl AsFd) {
    // A device without partitions refuses this, and has nothing to drop.
    let _ = reread_partitions(drive);
}

/// Why a target cannot be opened, in words.
pub fn why(error: &Errno) -> String {
    match *error {
        Errno::BUSY => "another process is using it".to_owned(),
        Errno::WOULDBLOCK => "another process has locked it".to_owned(),
        Errno::ACCESS | Errno::PERM => {
            format!(
                "{}: run as root, outside of containers",
                cause(&(*error).into())
            )
        }
        error => cause(&error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;
    use std::fs::OpenOptions;
    use std::path::Path;

    use rustix::fs::{Mode, OFlags};
    use squall_testing::loops::Lab;

    use super::super::{Access, Device, Direct};
    use super::*;
    use crate::target::tests::find;

    /// Repeats `attempt` until it succeeds: children of other tests have this test's files open until they run their
    /// programs.
    #[track_caller]
    fn in_the_end<E: Debug>(attempt: impl Fn() -> Result<(), E>) {
        retry(Duration::from_secs(600), |_| true, attempt).expect("nobody else has it");
    }

    fn writable(path: &Path) -> File {
        let mut options = OpenOptions::new();
        options.read(true).write(true).open(path).unwrap()
    }

    #[test]
    fn a_target_is_claimed_when_it_is_opened() {
        let lab = Lab::new();
        let target = find(&lab.image("image", 1 << 20));
        let theirs = File::open(&target.identity.path).unwrap();
        let open = |access| Device::open(target.clone(), access, Direct::Auto).map(drop);
        let text = open(Access::Write).unwrap_err().into_text();
        assert!(text.contains("another process is using it"), "{text}");
        in_the_end(|| open(Access::Read));
        drop(theirs);
        let ours = writable(&target.identity.path);
        in_the_end(|| claim(&ours, false));
        // The lease was given up, so opening does not wait for it.
        let flags = OFlags::RDWR | OFlags::NONBLOCK;
        rustix::fs::open(&target.identity.path, flags, Mode::empty()).unwrap();
        drop(ours);
        in_the_end(|| open(Access::Write));
    }

    #[test]
    fn a_lock_on_one_byte_is_noticed() {
        let lab = Lab::new();
        let image = lab.image("image", 1 << 20);
        let (ours, theirs) = (writable(&image), writable(&image));
        set_lock(&theirs, libc::F_RDLCK, 100, 1).unwrap();
        assert_eq!(claim(&ours, true), Err(Errno::WOULDBLOCK));
        let looks = File::open(&image).unwrap();
        assert_eq!(try_claim(&looks, true), Err(Errno::WOULDBLOCK));
        drop((theirs, looks));
        in_the_end(|| claim(&ours, true));
        let other = writable(&image);
        assert_eq!(claim(&other, true), Err(Errno::WOULDBLOCK));
    }
}
