//! Thread-local variables that are accessed without a call.
//!
//! They begin as zeros and are never dropped, so that a thread's first draw needs no allocation
//! and may happen in a signal handler, or within `malloc`. In a program `thread_local!` provides that.
//! In a shared library it does not: there the compiler reaches variables by `__tls_get_addr`, which
//! takes nanoseconds, and may itself allocate when a library has been loaded since. The feature
//! `shared-library` reaches them at a fixed distance from the thread's pointer instead. Their 168 bytes, and some 72 of the standard library with them, are then
//! part of the space that the loader sets aside at the start of the program, or of the reserve that it
//! keeps for libraries that are loaded later (`glibc.rtld.optional_static_tls`, 512 bytes).

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
    path = "per_thread/initial_exec.rs"
)]
mod variable;

/// `per_thread! { static NAME: Type }` defines a thread-local variable that begins as zeros, with the
/// `with` of `thread_local!`.
pub(crate) use variable::*;
