//! Bytes from the kernel's RNG, directly by system calls.
//!
//! Safe in a signal handler: no locks, no allocation, no state. getrandom(2) comes first; where a
//! sandbox or an old kernel refuses it, /dev/urandom, after /dev/random has reported that the RNG
//! is ready. The `getrandom` crate does the same, but keeps the descriptor behind a lock that a
//! signal handler could wait on forever.

use core::ffi::CStr;

use crate::error::{Error, errno};
use crate::file::{self, File};

/// Fills `out` with bytes from the kernel's RNG; waits until it is ready.
pub(crate) fn fill(out: &mut [u8]) -> Result<(), Error> {
    let Err(getrandom) = fill_with_reads(out, getrandom) else {
        return Ok(());
    };
    fill_from_urandom(out).map_err(|urandom| Error::NoEntropy { getrandom, urandom })
}

/// Calls `read` until `out` is full; the error is an `errno`.
fn fill_with_reads(
    out: &mut [u8],
    mut read: impl FnMut(&mut [u8]) -> Result<usize, i32>,
) -> Result<(), i32> {
    let mut filled = 0;
    while filled < out.len() {
        match read(&mut out[filled..]) {
            Ok(0) => return Err(libc::EIO),
            Ok(count) => filled += count,
            Err(libc::EINTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn getrandom(out: &mut [u8]) -> Result<usize, i32> {
    // SAFETY: `out` is writable for its length.
    unsafe { request(out.as_mut_ptr(), out.len(), 0) }
}

/// getrandom(2): returns the number of bytes written, or an `errno`. A raw call, because a C library
/// may not have it.
///
/// # Safety
/// `buffer` is writable for `length` bytes, or an address that is nobody's.
#[cfg(any(not(any(target_arch = "x86_64", target_arch = "aarch64")), miri))]
pub unsafe fn request(buffer: *mut u8, length: usize, flags: u32) -> Result<usize, i32> {
    // SAFETY: the caller's promise.
    let count = unsafe { libc::syscall(libc::SYS_getrandom, buffer, length, flags) };
    usize::try_from(count).map_err(|_| errno())
}

/// getrandom(2) by the CPU's instruction: the C library's `syscall` may be replaced by one that asks this
/// generator, or another like it.
///
/// # Safety
/// `buffer` is writable for `length` bytes, or an address that is nobody's.
#[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
pub unsafe fn request(buffer: *mut u8, length: usize, flags: u32) -> Result<usize, i32> {
    let count: isize;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the caller's promise. The kernel changes these three registers, and the buffer (Linux
    // Documentation/arch/x86/entry_64.rst; System V ABI for x86-64, A.2.1).
    unsafe {
        core::arch::asm!(
            "syscall",
            inlateout("rax") libc::SYS_getrandom as isize => count,
            in("rdi") buffer,
            in("rsi") length,
            in("rdx") flags as usize,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: the caller's promise. The kernel changes x0 and the buffer, and of SVE's registers those that a
    // function call may change (Linux Documentation/arch/arm64/sve.rst, section 3).
    unsafe {
        core::arch::asm!(
            "svc #0",
            in("x8") libc::SYS_getrandom,
            inlateout("x0") buffer => count,
            in("x1") length,
            in("x2") flags as usize,
            clobber_abi("C"),
            options(nostack),
        );
    }
    usize::try_from(count).map_err(|_| -count as i32)
}

fn fill_from_urandom(out: &mut [u8]) -> Result<(), i32> {
    wait_until_ready()?;
    let device = open_device(c"/dev/urandom", 9)?;
    fill_with_reads(out, |rest| {
        // SAFETY: `rest` is writable for its length. A raw call, because `read` may be replaced by
        // one that asks this generator.
        let count = unsafe {
            libc::syscall(
                libc::SYS_read,
                device.descriptor(),
                rest.as_mut_ptr(),
                rest.len(),
            )
        };
        usize::try_from(count).map_err(|_| errno())
    })
}

/// Waits until the RNG is ready by polling /dev/random; /dev/urandom does not wait.
fn wait_until_ready() -> Result<(), i32> {
    let device = open_device(c"/dev/random", 8)?;
    let mut poll = libc::pollfd {
        fd: device.descriptor(),
        events: libc::POLLIN,
        revents: 0,
    };
    loop {
        // SAFETY: one valid entry, no timeout, and an unchanged signal mask. A raw call, because
        // `poll` is a cancellation point.
        let ready = unsafe {
            let none = core::ptr::null::<u8>();
            libc::syscall(libc::SYS_ppoll, &raw mut poll, 1, none, none, 0)
        };
        match ready {
            1 => return Ok(()),
            _ if errno() == libc::EINTR => {}
            _ => return Err(errno()),
        }
    }
}

/// Opens a device of the kernel's RNG, and checks that it is one: major number 1, and this minor
/// (Linux Documentation/admin-guide/devices.txt).
fn open_device(path: &CStr, minor: u32) -> Result<File, i32> {
    let device = File::open(path, 0)?;
    let is_device = file::stat(device.descriptor()).is_some_and(|stat| {
        stat.st_mode & libc::S_IFMT == libc::S_IFCHR && stat.st_rdev == libc::makedev(1, minor)
    });
    if is_device {
        Ok(device)
    } else {
        Err(libc::ENODEV)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What [`fill_with_reads`] returns for these answers, and which bytes it leaves.
    fn filled_with_reads(answers: &[Result<usize, i32>]) -> (Result<(), i32>, [u8; 6]) {
        let mut out = [0; 6];
        let mut answers = answers.iter().copied().zip(1..);
        let result = fill_with_reads(&mut out, |rest| {
            let (answer, number) = answers.next().expect("it was full");
            rest[..answer.unwrap_or(0)].fill(number);
            answer
        });
        assert_eq!(answers.next(), None, "it has not asked");
        (result, out)
    }

    #[test]
    fn short_reads_are_continued() {
        assert_eq!(filled_with_reads(&[Ok(6)]), (Ok(()), [1; 6]));
        let parts = [Ok(1), Err(libc::EINTR), Ok(3), Ok(2)];
        assert_eq!(filled_with_reads(&parts), (Ok(()), [1, 3, 3, 3, 4, 4]));
    }

    #[test]
    fn errors_and_the_end_of_the_file_are_reported() {
        let of = |answers| filled_with_reads(answers).0;
        assert_eq!(of(&[Ok(5), Err(libc::ENOSYS)]), Err(libc::ENOSYS));
        assert_eq!(of(&[Ok(5), Ok(0)]), Err(libc::EIO));
    }

    #[test]
    fn the_system_call_fills() {
        let mut out = [0; 32];
        assert_eq!(getrandom(&mut out), Ok(32));
        assert_ne!(out, [0; 32]);
    }

    #[test]
    fn the_system_call_and_the_device_fill() {
        let (mut by_call, mut by_device) = ([0; 32], [0; 32]);
        fill(&mut by_call).unwrap();
        fill_from_urandom(&mut by_device).unwrap();
        assert!(by_call != [0; 32] && by_device != [0; 32] && by_call != by_device);
    }

    #[test]
    fn a_device_is_identified_by_its_numbers() {
        assert!(open_device(c"/dev/null", 3).is_ok());
        for (path, minor) in [(c"/dev/null", 9), (c"/proc/self/exe", 3), (c"/dev", 3)] {
            let error = open_device(path, minor).err();
            assert_eq!(error, Some(libc::ENODEV), "{path:?}");
        }
        let missing = open_device(c"/nonexistent/urandom", 9).err();
        assert_eq!(missing, Some(libc::ENOENT));
    }

    #[test]
    fn the_rng_is_ready_after_boot() {
        assert_eq!(wait_until_ready(), Ok(()));
    }
}
