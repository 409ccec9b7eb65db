//! Makes a Rust program's requests for random bytes draw from [squall](https://docs.rs/squall) instead of the
//! system call. One line in the program suffices:
//!
//! ```
//! use squall_getrandom as _;
//! ```
//!
//! The crate defines the C function `getrandom`, which other crates look for before they make the system
//! call. Nothing has to be configured, in debug builds, release builds and with link-time optimisation.
//!
//! # Who is reached
//! | caller | dynamically linked (`*-linux-gnu`) | statically linked |
//! | --- | --- | --- |
//! | the crate `getrandom` 0.3 and 0.4 | yes | with [`custom_backend`] |
//! | `uuid` v4, `SysRng`, the seeds of `rand` 0.9 and 0.10 | yes | with [`custom_backend`] |
//! | the seeds of `HashMap` (`RandomState`) | yes | yes |
//! | C code that calls getrandom(2) | yes | yes |
//! | the crate `getrandom` 0.2, and `ring`, which uses it | no | no |
//! | system calls by number or by the instruction | no | no |
//!
//! `squall run` reaches more than this in a dynamically linked program, and needs no change to it.
//!
//! # What stays the same
//! Results, flags and `errno` are the kernel's. squall asks the kernel once for each combination of flags
//! whether it would serve it; whatever the kernel refuses or cannot serve yet goes to the kernel: requests
//! before its generator is ready, unknown flags, bad addresses, and requests of more than 2^31 - 4096 bytes.
//! A buffer that does not belong to the program ends the program, as with getrandom of glibc 2.41, where the
//! kernel would return `EFAULT`.
//!
//! # Two definitions
//! A program can have one function of this name. If another crate or library in it defines the name too, the linker
//! reports a duplicate symbol, or, in some orders of the crates, takes this one. If libsquall-preload.so is loaded as well, this crate serves the calls of `getrandom`,
//! and the library serves everything else that it replaces. [`is_active`] says whether the calls reach this
//! crate.
//!
//! # Security, forks and clones
//! Same as [`squall::fill`]. squall itself asks the kernel by the CPU's instruction, so it never comes back
//! to this function. No path allocates or takes a lock: it may be called in signal handlers, and within
//! `malloc`. If the environment variable `SQUALL_COUNTERS` names a file of counters, requests are counted
//! there (`squall status --counters`).
//!
//! A sandbox (seccomp) must allow the system calls of a draw, which SECURITY.md of squall's repository lists
//! under Limits: beside getrandom(2) above all mmap(2) and munmap(2), for each thread's page.
//!
//! # Source
//! getrandom(2) of the Linux manual pages, and `random.c` of Linux for the order in which it checks.

#![deny(missing_docs)]

#[cfg(not(target_os = "linux"))]
compile_error!("squall-getrandom is for Linux: elsewhere programs have other system calls");

use core::ffi::{c_uint, c_void};
use core::sync::atomic::{AtomicU8, Ordering};

use squall_bindings::counters::{self, Door};
use squall_bindings::request;

/// A bit for each combination of flags that the kernel has accepted.
static ACCEPTED_FLAGS: AtomicU8 = AtomicU8::new(0);

/// getrandom(2): fills `buffer` and returns the number of bytes; or -1, with the kernel's `errno`.
///
/// # Safety
/// `buffer` is writable for `length` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn getrandom(buffer: *mut c_void, length: usize, flags: c_uint) -> isize {
    if may_serve(flags)
        // SAFETY: the caller's promise.
        && let Some(out) = unsafe { request::slice_of_request(buffer, length) }
        && squall::try_fill(out).is_ok()
    {
        counters::served(Door::Getrandom, length);
        return length as isize;
    }
    counters::forwarded(Door::Getrandom);
    // SAFETY: the caller's promise.
    unsafe { request::getrandom_of_kernel(buffer, length, flags) }
}

/// Whether squall may serve requests with these flags: only if the kernel would, now. Never waits.
#[inline]
fn may_serve(flags: c_uint) -> bool {
    flags <= request::FLAGS
        && (ACCEPTED_FLAGS.load(Ordering::Relaxed) & 1 << flags != 0 || ask_kernel(flags))
}

/// What the kernel accepts is remembered, because its generator stays ready once it is.
#[cold]
fn ask_kernel(flags: c_uint) -> bool {
    // Ask first whether the generator is ready: squall would wait for it, whatever the flags.
    if flags != libc::GRND_NONBLOCK && !may_serve(libc::GRND_NONBLOCK) {
        return false;
    }
    let is_accepted = request::kernel_accepts(flags);
    if is_accepted {
        ACCEPTED_FLAGS.fetch_or(1 << flags, Ordering::Relaxed);
    }
    is_accepted
}

/// Called by the loader before the program's own constructors (System V ABI, "Initialization and Termination
/// Functions").
///
/// It is in the module of `getrandom`, and so in its object: the linker, which must take this, cannot leave that out
/// where another crate defines the same name.
#[used]
#[unsafe(link_section = ".init_array")]
static INITIALISER: extern "C" fn() = initialise;

extern "C" fn initialise() {
    counters::attach();
    squall::hazmat::prepare_threads();
}

/// Whether a call of `getrandom` by name reaches this crate: false if another definition comes before it, and
/// in statically linked programs, which cannot look for names.
///
/// A program that relies on squall checks it once:
///
/// ```
/// assert!(squall_getrandom::is_active(), "another getrandom comes before squall's");
/// ```
pub fn is_active() -> bool {
    // SAFETY: the name ends with a null byte.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"getrandom".as_ptr()) };
    found == getrandom as *mut c_void
}

/// Fills `length` bytes at `out`, which may be uninitialised; false if there is no source of randomness. For
/// [`custom_backend`].
///
/// # Safety
/// `out` is writable for `length` bytes.
#[doc(hidden)]
pub unsafe fn fill(out: *mut u8, length: usize) -> bool {
    // SAFETY: the caller's promise. The bytes are initialised before they become a slice of integers.
    let out = unsafe {
        out.write_bytes(0, length);
        core::slice::from_raw_parts_mut(out, length)
    };
    let is_filled = squall::try_fill(out).is_ok();
    if is_filled {
        counters::served(Door::Getrandom, length);
    }
    is_filled
}

/// Makes the crate `getrandom` 0.3 and 0.4 draw from squall by its custom backend, also in statically linked
/// programs, where a function cannot be found by its name.
///
/// It belongs into the program, not into a library, and the program must have `getrandom` among its
/// dependencies. It takes effect with a line in `.cargo/config.toml`; without it, the macro does nothing:
///
/// ```toml
/// [build]
/// rustflags = ['--cfg', 'getrandom_backend="custom"']
/// ```
///
/// ```
/// squall_getrandom::custom_backend!();
/// # fn main() {}
/// ```
///
/// Two invocations in one program are two definitions of one symbol, which the linker refuses.
#[macro_export]
macro_rules! custom_backend {
    () => {
        #[unsafe(no_mangle)]
        unsafe extern "Rust" fn __getrandom_v03_custom(
            out: *mut u8,
            length: usize,
        ) -> ::core::result::Result<(), ::getrandom::Error> {
            // SAFETY: the crate `getrandom` passes memory that is writable for this length.
            if unsafe { $crate::fill(out, length) } {
                ::core::result::Result::Ok(())
            } else {
                ::core::result::Result::Err(::getrandom::Error::UNEXPECTED)
            }
        }
    };
}
