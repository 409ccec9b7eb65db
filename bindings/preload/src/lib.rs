//! libsquall-preload.so: squall in the place of getrandom, getentropy, arc4random and /dev/urandom,
//! for programs as they are.
//!
//! Named in `LD_PRELOAD`, it serves a program's requests for random bytes from
//! [`squall::try_fill`], and leaves to the kernel what it cannot serve exactly as the kernel would.
//! Everything else that a program can see stays: results, `errno`, blocking, cancellation points.
//!
//! - `getrandom`: getrandom(2) and getentropy(3), once the kernel itself has said that it would
//!   serve such a request (`gate`).
//! - `arc4random`: arc4random(3) and its like.
//! - `reads`: read(2) and its like, of descriptors of /dev/random and /dev/urandom. The kernel is
//!   asked what a descriptor is (`device`); `descriptors` and `messages` see where a number
//!   comes to mean another file.
//! - `sandbox`: in a sandbox that the program has entered, all requests are the kernel's.
//! - `syscall`: getrandom(2) and sandboxes by syscall(2), on x86-64.
//!
//! # What stays the kernel's
//! What does not come through these functions: programs that are linked statically, system calls
//! that a program makes by the instruction or by syscall(2), but for getrandom, `FILE` streams (the C
//! library reads with a `read` of its own), io_uring, splice(2), and what the C library needs itself.
//! A set-user-ID program is loaded without the library. Also requests longer than 2^31 - 4096 bytes,
//! reads with flags, and all requests while the kernel's RNG is not ready yet.
//!
//! # Differences
//! - A buffer that is not the program's ends it with a signal, as with getrandom of glibc 2.41 and
//!   later, where the kernel would say `EFAULT`, or fill what is the program's; by syscall(2) too. It
//!   still says so for addresses that can be nobody's: the first page, and from 2^56 on. The same holds
//!   for the structure of clone3(2), by syscall(2).
//! - A request of more than 256 bytes is never cut short by a signal.
//! - getrandom is no cancellation point when squall serves it, as in glibc 2.41; reads are.
//! - A handler that interrupts a draw and leaves it by `siglongjmp` leaves the draw's lock behind:
//!   that thread's requests are then served afresh, by system calls, for as long as it lives.
//! - After a `clone` of a child that shares its parent's memory and thread pointer was asked for, the
//!   kernel serves all requests (`clone`, on x86-64).
//! - A filter that holds when a program is started, or that it sets by the instruction itself, is not
//!   seen. It must allow `newfstatat`, as the first read of every descriptor asks what it is; and where
//!   something is drawn, what SECURITY.md lists (Limits).
//! - A thread that drew before a sandbox was entered gives its page back by munmap(2) when it ends.
//! - Until this library's constructor has run, functions of other preloaded libraries that are also
//!   replaced here are passed over: the system calls themselves are made.
//!
//! # Signal handlers, `malloc`, constructors, `vfork`
//! Each function may be called in a signal handler, within `malloc`, before any constructor has
//! run, and after `fork` and `vfork`: no lock is taken, and nothing is allocated. (A `clone` before
//! this library's constructor takes the loader's lock.) (If constructors
//! that run earlier take 32 thread keys, the C library allocates for a thread's first draw.)
//!
//! # Stack
//! A process's first draw takes up to 6 KiB of stack (x86-64); up to 4 KiB a thread's first one,
//! one after a fork, and one in a minute; any other 1 KiB. That fits a thread of
//! `PTHREAD_STACK_MIN`. Of a signal stack of 8192 bytes the kernel's frame takes 3 KiB where the
//! CPU has AVX-512, which leaves room for a process's first draw, and for little else.

/// By which `squall run` knows the library.
#[used]
#[unsafe(no_mangle)]
static SQUALL_PRELOAD: u8 = 1;

mod arc4random;
#[cfg(target_arch = "x86_64")]
mod clone;
mod descriptors;
mod device;
mod draw;
mod gate;
mod getrandom;
mod messages;
mod reads;
mod real;
mod sandbox;
#[cfg(target_arch = "x86_64")]
mod syscall;
