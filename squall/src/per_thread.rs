//! Thread-local variables that are accessed without a call.
//!
//! They begin as zeros and are never dropped, so that in a program, where `thread_local!`
//! provides that, a thread's first draw needs no allocation, and may happen in a signal handler or within `malloc`.
//!
//! In a shared library it does not: there the compiler reaches variables by `__tls_get_addr`, which
//! takes nanoseconds, and may itself allocate when a library has been loaded since. The feature
//! `shared-library` reaches them by TLS descriptors instead. While the loader has room, it puts the
//! variables at a fixed distance from the thread's pointer: in libraries that are loaded when the program
//! starts, and in those that are loaded later, up to its reserve (`glibc.rtld.optional_static_tls`, 512
//! bytes). Then an access is a call of two instructions. squall's libraries take 300 bytes, the module for
//! Node.js 608. A library for which the reserve does not suffice gets its variables at the first draw of
//! each thread, which allocates: that draw must be outside signal handlers and `malloc`.
//!
//! The initial exec model saves the call, but the sixth copy of such a library cannot be loaded, nor the
//! third of the module for Node.js. From C, a `u32` took 12.3 ns with it, 12.0 by a descriptor, and 19.2
//! where the reserve did not suffice; `randomBytes(16)` in Node.js took 115 ns with it and 122 by a
//! descriptor (AMD EPYC, glibc 2.36, a busy machine: the least of 200 and 60 means).

/// A type whose values may begin as zeros.
///
/// # Safety
/// All zeros are a valid value, and the type needs no drop.
pub(crate) unsafe trait ZeroAtStart {}

// SAFETY: zeros are the number 0, and numbers need no drop.
unsafe impl ZeroAtStart for core::sync::atomic::AtomicU64 {}
// SAFETY: as above.
unsafe impl ZeroAtStart for core::sync::atomic::AtomicUsize {}

#[cfg_attr(
    all(
        feature = "shared-library",
        any(target_arch = "x86_64", target_arch = "aarch64"),
        not(miri)
    ),
    path = "per_thread/descriptor.rs"
)]
mod variable;

/// `per_thread! { static NAME: Type }` defines a thread-local variable that begins as zeros, with the
/// `with` of `thread_local!`.
pub(crate) use variable::*;
