//! The errors, each with its cause in one line.

use core::fmt;
use std::io::Write;

use squall_drbg::Engine;

/// Why a request failed. The output was not written, or must not be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// There is no source of randomness: getrandom(2) was refused with this `errno` and
    /// /dev/urandom could not be read either.
    NoEntropy {
        /// `errno` of getrandom(2).
        getrandom: i32,
        /// `errno` of opening or reading /dev/urandom.
        urandom: i32,
    },
    /// This CPU cannot run the engine, or the engine does not compute the cipher asked for.
    EngineUnavailable(Engine),
    /// The request reaches past the end of the keystream, at 2^64 bytes.
    EndOfStream,
    /// The expanded key could not be allocated.
    OutOfMemory,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NoEntropy { getrandom, urandom } => write!(
                f,
                "no source of randomness: getrandom(2) failed with errno {getrandom} and \
                 /dev/urandom with errno {urandom}; allow one of them in this sandbox"
            ),
            Error::EngineUnavailable(engine) => {
                squall_drbg::Error::EngineUnavailable(*engine).fmt(f)
            }
            Error::EndOfStream => f.write_str("the keystream ends at byte 2^64"),
            Error::OutOfMemory => f.write_str("out of memory for an expanded key"),
        }
    }
}

impl core::error::Error for Error {}

/// Aborts the program with a message on standard error.
///
/// It needs only the stack and one system call, because it may run in a forked child, where a thread
/// that the fork did not copy may hold the lock of Rust's standard error or of an allocator.
#[cold]
#[inline(never)]
pub(crate) fn abort(error: Error) -> ! {
    let mut line = [0; 256];
    let mut rest = &mut line[..];
    // A message that is too long is cut off.
    let _ = writeln!(rest, "squall: {error}");
    let left = rest.len();
    let line = &line[..line.len() - left];
    loop {
        // SAFETY: the line is readable for its length. A raw call, because `write` is a
        // cancellation point.
        let written = unsafe {
            libc::syscall(
                libc::SYS_write,
                libc::STDERR_FILENO,
                line.as_ptr(),
                line.len(),
            )
        };
        if written >= 0 || errno() != libc::EINTR {
            std::process::abort()
        }
    }
}

/// `errno` of the last failed call.
pub(crate) fn errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(0)
}
