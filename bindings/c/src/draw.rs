//! Random bytes and numbers.

use core::ffi::{c_int, c_void};

use squall_binding_base::counters::{self, Interface};

use crate::buffer;
use crate::error::{SQUALL_OK, code};
use crate::start::{INITIALISER, Initialiser};

/// Links the initialiser with this module.
#[used]
static LINKED_INITIALISER: &Initialiser = &INITIALISER;

/// Fills `len` bytes at `buf` with random bytes: for keys, nonces, tokens, and anything else.
///
/// `buf` may be null if `len` is 0. The first request of a process waits until the kernel's
/// generator is ready, which can take some time at boot only.
///
/// Returns `SQUALL_OK`, `SQUALL_E_NULL`, `SQUALL_E_LENGTH`, or `SQUALL_E_NO_ENTROPY`. After an error
/// the bytes must not be used.
///
/// Backtracking resistant: served bytes are erased and keys replaced, so a later leak of memory does
/// not reveal them. NIST SP 800-90A Rev. 1 section 10.2.1 (CTR_DRBG with AES-256).
///
/// Any thread may call it, and signal handlers, unless dlopen loaded the library after the program's
/// start: then not first. A forked child never repeats its parent; a clone of the
/// virtual machine never repeats its sibling, within the limits of docs/SECURITY.md.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn squall_fill(buf: *mut c_void, len: usize) -> c_int {
    // SAFETY: the header says so to the caller.
    fill_and_count(
        unsafe { buffer::writable(buf.cast(), len) },
        squall::try_fill,
    )
}

/// Like `squall_fill`, but from a new seed of the kernel's RNG in every call, for each 64 KiB. Use it
/// for keys that live for years.
///
/// It takes one or two microseconds where `squall_fill` takes nanoseconds. The bytes depend on no state
/// of this process: an attacker who has learned all of it cannot predict them. They are as fresh as
/// the kernel's RNG, which takes in new entropy about once a minute; that is not prediction resistance in
/// the sense of SP 800-90A. Errors, threads, forks and clones are as with `squall_fill`.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn squall_fill_fresh(buf: *mut c_void, len: usize) -> c_int {
    // SAFETY: the header says so to the caller.
    fill_and_count(
        unsafe { buffer::writable(buf.cast(), len) },
        squall::try_fill_fresh,
    )
}

#[inline(always)]
fn fill_and_count(
    out: Result<&mut [u8], c_int>,
    fill: impl FnOnce(&mut [u8]) -> Result<(), squall::Error>,
) -> c_int {
    match out {
        Ok(out) => match fill(out) {
            Ok(()) => {
                counters::served(Interface::Library, out.len());
                SQUALL_OK
            }
            Err(error) => code(error),
        },
        Err(code) => code,
    }
}

/// A random number below 2^32.
///
/// If there is no source of randomness at all, it aborts the program with a message, where
/// `squall_fill` returns an error. Everything else is as with `squall_fill`.
#[unsafe(no_mangle)]
pub extern "C" fn squall_u32() -> u32 {
    counters::served(Interface::Library, size_of::<u32>());
    squall::u32()
}

/// A random number below 2^64. Everything else is as with `squall_u32`.
#[unsafe(no_mangle)]
pub extern "C" fn squall_u64() -> u64 {
    counters::served(Interface::Library, size_of::<u64>());
    squall::u64()
}

/// A random number below `bound`, each equally likely; 0 if `bound` is 0 or 1.
///
/// The time it takes may reveal that a number was rejected and drawn again, but not which number. If
/// there is no source of randomness at all, it aborts the program as `squall_u32` does. Everything else
/// is as with `squall_fill`.
///
/// D. Lemire, "Fast Random Integer Generation in an Interval" (ACM TOMACS 29, 2019).
#[unsafe(no_mangle)]
pub extern "C" fn squall_uniform(bound: u64) -> u64 {
    let draw = || {
        counters::served(Interface::Library, size_of::<u64>());
        Ok::<_, core::convert::Infallible>(u64::from_ne_bytes(squall::array()))
    };
    let Ok(number) = squall::internal::below_u64(bound, draw);
    number
}

/// Stops reading the CPU's cycle counter, for a program that is about to switch it off with
/// `prctl(PR_SET_TSC, PR_TSC_SIGSEGV)`: the next reading would end it by SIGSEGV. A process whose
/// first draw comes after that needs no call.
///
/// It holds for the whole process and its later children, and cannot be undone. kvm-clock is a signal of clones only if
/// squall could read the counter in the process's first ten milliseconds. With `squall run` or LD_PRELOAD no call is
/// needed: the kernel then serves the process.
#[unsafe(no_mangle)]
pub extern "C" fn squall_avoid_cycle_counter() {
    squall::hazmat::avoid_cycle_counter();
}
