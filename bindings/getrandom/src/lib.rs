//! Makes a Rust program's requests for random bytes draw from [squall](https://docs.rs/squall) instead of the
//! system call. One line in the program suffices:
//!
//! ```
//! use squall_getrandom as _;
//! ```
//!
//! The crate defines the C function `getrandom`, which other crates look for before they make the system
//! call. Nothing has to be configured in a dynamically linked program, also with link-time optimisation. In
//! debug builds squall is unoptimised, and slower than the system call: `opt-level = 2` for the packages
//! `squall` and `squall-drbg` helps (`[profile.dev.package]`).
//!
//! # Who is reached
//! | caller | dynamically linked (`*-linux-gnu`) | statically linked |
//! | --- | --- | --- |
//! | the crate `getrandom` 0.3 and 0.4 | yes | with musl, or a [flag](#statically-linked-programs) |
//! | `uuid` v4, `SysRng`, the seeds of `rand` 0.9 and 0.10 | yes | as `getrandom` |
//! | the seeds of `HashMap` (`RandomState`) | yes | yes |
//! | C code that calls getrandom(2) | yes | yes |
//! | the crate `getrandom` 0.2, and `ring`, which uses it | no | no |
//! | system calls by number or by the instruction | no | no |
//!
//! `squall run` reaches more than this in a dynamically linked program, and needs no change to it.
//!
//! It reaches a program, not a shared library (`cdylib`: a plugin, or a module of Python). There the C
//! library's function comes first, unless the program that loads it has this crate too.
//!
//! # Statically linked programs
//! With glibc, the crate `getrandom` finds no function by its name in a static program. A flag makes it call
//! the function directly. With musl it does so anyway (by its source code; this was not tried):
//!
//! ```toml
//! # .cargo/config.toml
//! [build]
//! rustflags = ['--cfg', 'getrandom_backend="linux_getrandom"']
//! ```
//!
//! # What stays the same
//! Results, flags and `errno` are the kernel's. squall asks the kernel once for each combination of flags
//! whether it would serve it. Whatever the kernel refuses or cannot serve yet goes to the kernel: requests
//! before its generator is ready, unknown flags, addresses that no program can have, and requests of more than
//! 2^31 - 4096 bytes.
//!
//! There are two differences. Any other buffer that does not belong to the program ends it with a signal, as
//! with getrandom of glibc 2.41, where the kernel would return `EFAULT`. And a signal never cuts a request
//! short.
//!
//! # Two definitions
//! A program can have one function of this name. If another crate or library in it defines the name too, the
//! linker reports a duplicate symbol or, in some orders of the crates, takes this one. If
//! libsquall-preload.so is loaded as well, this crate serves the calls of `getrandom`, and the library serves
//! everything else that it replaces. [`is_active`] says whether the calls reach this crate.
//!
//! # Security, forks and clones
//! Same as [`squall::fill`]. squall itself asks the kernel by the CPU's instruction, so it never comes back
//! to this function. No path allocates or takes a lock: it may be called in signal handlers, and within
//! `malloc`. If the environment variable `SQUALL_COUNTERS` names a file of counters, requests are counted
//! there (`squall status --counters`).
//!
//! # Sandboxes
//! A sandbox (seccomp) must allow the system calls of a draw. SECURITY.md of squall's repository lists them
//! under Limits: above all getrandom(2), getpid(2), and for each thread's page mmap(2) and munmap(2). The first
//! request also makes the calls that squall makes once in a process, which look for signals of clones. So ask
//! for random bytes before the program enters the sandbox; making a `HashMap` suffices.
//!
//! # Source
//! getrandom(2) of the Linux manual pages, and `random.c` of Linux for the order in which it checks.

#![deny(missing_docs)]

#[cfg(not(target_os = "linux"))]
compile_error!("squall-getrandom is for Linux: elsewhere programs have other system calls");

use core::ffi::{c_uint, c_void};
use core::mem;
use core::sync::atomic::{AtomicU8, Ordering};

use squall_binding_base::counters::{self, Interface};
use squall_binding_base::request;

/// A bit for each combination of flags that the kernel has accepted.
static ACCEPTED_FLAGS: AtomicU8 = AtomicU8::new(0);

/// The type of the C function `getrandom`.
type GetRandom = unsafe extern "C" fn(*mut c_void, usize, c_uint) -> isize;

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
        counters::served(Interface::Getrandom, length);
        return length as isize;
    }
    if question() == (buffer, length, flags) {
        return ANSWER;
    }
    counters::forwarded(Interface::Getrandom);
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
    if !request::kernel_accepts(flags) {
        return false;
    }
    if ACCEPTED_FLAGS.load(Ordering::Relaxed) == 0 {
        request::make_one_time_decisions();
    }
    ACCEPTED_FLAGS.fetch_or(1 << flags, Ordering::Relaxed);
    true
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

/// A request that the kernel refuses, and that only [`is_active`] of this copy of the crate makes.
fn question() -> (*mut c_void, usize, c_uint) {
    (ACCEPTED_FLAGS.as_ptr().cast(), 0, c_uint::MAX)
}

/// The answer to [`question`], which no other function gives to a request of no bytes.
const ANSWER: isize = 1;

/// Whether the crate `getrandom` reaches this crate: false if another definition comes before it, as in a shared
/// library, and in statically linked programs [without the flag](crate#statically-linked-programs).
///
/// A program that relies on squall checks it once:
///
/// ```
/// assert!(squall_getrandom::is_active(), "another getrandom comes before squall's");
/// ```
#[allow(unexpected_cfgs, reason = "the flag is that of the crate `getrandom`")]
pub fn is_active() -> bool {
    if cfg!(target_feature = "crt-static") {
        // Names are resolved by the linker, and it finds this crate's function or fails.
        return cfg!(any(
            target_env = "musl",
            getrandom_backend = "linux_getrandom"
        ));
    }
    // SAFETY: the name ends with a null byte.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"getrandom".as_ptr()) };
    // SAFETY: null, which is `None`, or a function of this type by the C library's header.
    let getrandom = unsafe { mem::transmute::<*mut c_void, Option<GetRandom>>(found) };
    let (buffer, length, flags) = question();
    // Comparing addresses would not do: in a shared library, the address of this crate's function is that of the
    // function that comes first.
    // SAFETY: a request of no bytes writes nothing.
    getrandom.is_some_and(|getrandom| unsafe { getrandom(buffer, length, flags) } == ANSWER)
}

/// The README's example is compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
