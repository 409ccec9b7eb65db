//! A file that is open for reading, by system calls made directly.
//!
//! The C library's `open` and `close` may be replaced by a preloaded library, and are cancellation
//! points: a thread that is cancelled in one would abandon a draw in the middle.

use core::ffi::{CStr, c_int};

use crate::error::errno;

/// A file descriptor, closed on drop.
#[derive(Debug)]
pub(crate) struct File(c_int);

impl File {
    /// Opens `path` for reading, with additional `flags`; the error is an `errno`.
    pub fn open(path: &CStr, flags: c_int) -> Result<File, i32> {
        let flags = flags | libc::O_RDONLY | libc::O_CLOEXEC;
        loop {
            // SAFETY: the path ends with a null byte.
            let fd =
                unsafe { libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags, 0) };
            match errno() {
                _ if fd >= 0 => return Ok(File(fd as c_int)),
                libc::EINTR => {}
                error => return Err(error),
            }
        }
    }

    /// Reads the file's first bytes; `None` if that fails.
    pub fn read(&self, bytes: &mut [u8]) -> Option<usize> {
        // SAFETY: the buffer is writable for its length.
        let read = unsafe {
            libc::syscall(
                libc::SYS_pread64,
                self.0,
                bytes.as_mut_ptr(),
                bytes.len(),
                0,
            )
        };
        usize::try_from(read).ok()
    }

    /// The descriptor, which is not closed.
    pub fn into_descriptor(self) -> c_int {
        core::mem::ManuallyDrop::new(self).0
    }

    /// The file descriptor.
    pub fn descriptor(&self) -> c_int {
        self.0
    }
}

/// The target of a symbolic link, cut off where `buffer` ends; `None` if there is no such link.
pub(crate) fn link_target<'a>(path: &CStr, buffer: &'a mut [u8]) -> Option<&'a [u8]> {
    // SAFETY: the path ends with a null byte, and the buffer is writable for its length.
    let len = unsafe {
        libc::syscall(
            libc::SYS_readlinkat,
            libc::AT_FDCWD,
            path.as_ptr(),
            buffer.as_mut_ptr(),
            buffer.len(),
        )
    };
    buffer.get(..usize::try_from(len).ok()?)
}

/// fstat(2) of a descriptor; `None` if it fails.
pub fn stat(descriptor: c_int) -> Option<libc::stat> {
    // An empty path stands for the descriptor.
    newfstatat(descriptor, c"", libc::AT_EMPTY_PATH)
}

/// stat(2) of a path; `None` if it fails.
pub(crate) fn stat_path(path: &CStr) -> Option<libc::stat> {
    newfstatat(libc::AT_FDCWD, path, 0)
}

/// What newfstatat(2) says; `None` if it fails. Not the C library's `fstatat`, which a preloaded library may
/// replace, as fakeroot does.
fn newfstatat(directory: c_int, path: &CStr, flags: c_int) -> Option<libc::stat> {
    let mut stat = core::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the path ends with a null byte, and `stat` is writable; on the 64-bit systems that squall is
    // for, the C library's `stat` is the kernel's.
    let status = unsafe {
        libc::syscall(
            libc::SYS_newfstatat,
            directory,
            path.as_ptr(),
            stat.as_mut_ptr(),
            flags,
        )
    };
    // SAFETY: written by a call that succeeds.
    (status == 0).then(|| unsafe { stat.assume_init() })
}

impl Drop for File {
    fn drop(&mut self) {
        // SAFETY: opened here, closed once.
        unsafe { libc::syscall(libc::SYS_close, self.0) };
    }
}
