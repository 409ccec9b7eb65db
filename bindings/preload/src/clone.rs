//! clone(2) for a child that shares its parent's memory and its thread pointer.
//!
//! Such a child runs at the same time as its parent and shares its thread-local variables. Both would
//! draw from one state without knowing of each other, and no check for that is cheap enough to run on
//! each request. So when a program makes such a child, the kernel serves all requests of the process
//! from then on ([`agreement::KERNEL_ONLY`]). Threads are not affected: they have their own thread pointer
//! (CLONE_SETTLS). Neither is vfork(2), whose parent waits.
//!
//! This exists only on x86-64 and aarch64; [`crate::syscall`] catches calls by number. The C library's
//! internal calls are not caught, but none makes such a child.

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "x86_64")]
mod x86_64;

use core::ffi::{c_int, c_void};

/// The flags that identify such a child, and their values for it.
pub(crate) const CHECKED_FLAGS: c_int = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_SETTLS;
pub(crate) const SHARING_FLAGS: c_int = libc::CLONE_VM;

/// Looks up the next library's function. The process ends if there is none; the C library has one.
extern "C" fn look_up() -> *mut c_void {
    // SAFETY: the name ends with a null byte.
    let address = unsafe { libc::dlsym(libc::RTLD_NEXT, c"clone".as_ptr()) };
    if address.is_null() {
        // SAFETY: ends the process.
        unsafe { libc::abort() };
    }
    address
}
