//! libsquall-preload.so: replaces getrandom, getentropy, arc4random and /dev/urandom by squall in
//! unmodified programs.
//!
//! Named in `LD_PRELOAD`, it serves a program's requests for random bytes from
//! [`squall::try_fill`]. Requests that it cannot serve exactly as the kernel would are left to the
//! kernel. Everything else that a program can see stays the same: results, `errno`, blocking,
//! cancellation points.
//!
//! - `getrandom`: getrandom(2) and getentropy(3), once the kernel has accepted such a request (`gate`).
//! - `arc4random`: arc4random(3) and related functions.
//! - `reads`: read(2) and related calls on /dev/random and /dev/urandom. The kernel is asked what a
//!   descriptor is (`device`); `descriptors` notices when a number means another file.
//! - `memory`: reads memory whose address the program passes to the kernel.
//! - `sandbox`: leaves all requests to the kernel once the program has entered a sandbox, or switched off the
//!   cycle counter or CPUID.
//! - `syscall`: getrandom(2) and sandboxes by syscall(2), and clone(2), on x86-64 and aarch64.
//!
//! # Requests that the kernel still serves
//! The kernel serves requests that do not come through these functions: those of statically linked
//! programs, system calls by the instruction or by syscall(2) (except getrandom), `FILE` streams (the C
//! library uses its internal `read`), io_uring, splice(2), and the C library's own requests. A
//! set-user-ID program is loaded without the library. The kernel also serves requests longer than
//! 2^31 - 4096 bytes, reads with flags, and all requests while its RNG is not ready yet.
//!
//! # Differences
//! - A buffer that does not belong to the program ends the program with a signal, as with getrandom of
//!   glibc 2.41 and later; also by syscall(2). The kernel would return `EFAULT`, or fill the part that
//!   belongs to the program. Addresses that no program can have still give `EFAULT`: those in the
//!   first page, and those from 2^56 on.
//! - A signal never cuts short a request of more than 256 bytes.
//! - getrandom is not a cancellation point when squall serves it, as in glibc 2.41; reads are.
//! - A handler that interrupts a draw and leaves by `siglongjmp` leaves the draw's lock behind. Squall
//!   then serves that thread's requests from new seeds, by system calls, for as long as it lives.
//! - After a request for a `clone` that shares its parent's memory and thread pointer, the kernel
//!   serves all requests (`syscall`, on x86-64 and aarch64).
//! - Filters that were set before the program started, or by the instruction itself, are not noticed.
//!   They must allow `newfstatat`, because the library asks the kernel about a descriptor on its first
//!   read. If the program draws, they must also allow the calls that SECURITY.md lists (Limits).
//! - A thread that drew before a sandbox was entered frees its page by munmap(2) when it ends.
//! - Until this library's constructor has run, it makes the system calls itself, and so bypasses
//!   other preloaded libraries that replace the same functions.
//!
//! # Signal handlers, `malloc`, constructors, `vfork`
//! Each function may be called in a signal handler, within `malloc`, before any constructor has
//! run, and after `fork` and `vfork`: it takes no lock and allocates nothing, because the library is loaded when the program starts. There are two
//! exceptions. A `clone` before this library's constructor takes the loader's lock. If constructors
//! that run earlier take 32 thread keys, the C library allocates for a thread's first draw.
//!
//! # Stack
//! The first draw of a process takes up to 6 KiB of stack (x86-64). The first draw of a thread, the
//! first one after a fork, and one per minute take up to 4 KiB; all others 1 KiB. That fits a thread of
//! `PTHREAD_STACK_MIN`. On a signal stack of 8192 bytes the kernel's frame takes 3 KiB if the CPU has
//! AVX-512, which leaves room for a process's first draw, and for little else.

/// The symbol by which `squall run` recognises the library.
#[used]
#[unsafe(no_mangle)]
static SQUALL_PRELOAD: u8 = 1;

mod agreement;
mod arc4random;
mod descriptors;
mod device;
mod gate;
mod getrandom;
mod memory;
mod reads;
mod real;
mod sandbox;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod syscall;
