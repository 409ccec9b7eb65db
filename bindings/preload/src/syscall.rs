//! syscall(2), and clone(2) for a child that shares its parent's memory and its thread pointer.
//!
//! Such a child runs at the same time as its parent and shares its thread-local variables. Both would
//! draw from one state without knowing of each other, and no check for that is cheap enough to run on
//! each request. So when a program makes such a child, the kernel serves all requests of the process
//! from then on ([`agreement::KERNEL_ONLY`]). Threads are not affected: they have their own thread pointer
//! (CLONE_SETTLS). Neither is vfork(2), whose parent waits. The C library's internal calls of clone(2) are not caught,
//! but none makes such a child.
//!
//! In syscall(2), the numbers of getrandom(2), seccomp(2), prctl(2) and arch_prctl(2) call the functions of this library,
//! and clone(2) and clone3(2) are noticed. All other calls are passed on with their arguments in
//! place, because some return twice, or on another stack.
//!
//! This exists only on x86-64 and aarch64. On other CPUs, and for programs that use the instruction
//! themselves, the kernel serves these calls.

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "x86_64")]
mod x86_64;

use core::ffi::{c_int, c_long, c_uint, c_ulong, c_void};
use core::mem::MaybeUninit;
use core::sync::atomic::Ordering;

use squall_binding_base::request;

use crate::{agreement, getrandom, memory, sandbox};
#[cfg(target_arch = "aarch64")]
use aarch64::call_next;
#[cfg(target_arch = "x86_64")]
use x86_64::call_next;

/// The flags that identify such a child, and their values for it.
const CHECKED_FLAGS: c_int = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_SETTLS;
const SHARING_FLAGS: c_int = libc::CLONE_VM;

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

/// The least size of clone3(2)'s structure in bytes; the kernel refuses smaller ones
/// (`CLONE_ARGS_SIZE_VER0` of Linux include/uapi/linux/sched.h).
const MIN_CLONE_ARGS: usize = 64;

extern "C" fn set_errno(error: c_int) {
    request::set_errno(error);
}

/// Leaves all requests to the kernel if clone3(2) with this structure makes a child that shares its parent's
/// memory and thread pointer, or if that cannot be known. In a sandbox the kernel serves them anyway.
extern "C" fn before_clone3(arguments: *const u64, length: usize) {
    if length < MIN_CLONE_ARGS || sandbox::is_entered() {
        return;
    }
    let mut flags = [MaybeUninit::uninit()];
    match memory::read(arguments, &mut flags, 1) {
        Err(libc::EFAULT) => {}
        Ok(&[flags]) if flags as c_int & CHECKED_FLAGS != SHARING_FLAGS => {}
        _ => agreement::ACCEPTED_FLAGS.store(agreement::KERNEL_ONLY, Ordering::SeqCst),
    }
}

/// getrandom(2).
///
/// # Safety
/// `buffer` is writable for `length` bytes.
unsafe extern "C-unwind" fn getrandom_by_number(
    buffer: *mut c_void,
    length: usize,
    flags: c_uint,
) -> c_long {
    // SAFETY: the caller's promise.
    unsafe {
        match getrandom::serve(buffer, length, flags) {
            Some(count) => count as c_long,
            None => {
                let buffer = buffer.expose_provenance() as c_ulong;
                let length = length as c_ulong;
                call_next(libc::SYS_getrandom, buffer, length, flags.into(), 0, 0, 0)
            }
        }
    }
}

/// seccomp(2).
///
/// # Safety
/// As seccomp(2).
unsafe extern "C-unwind" fn seccomp_by_number(
    operation: c_uint,
    flags: c_ulong,
    arguments: c_ulong,
) -> c_long {
    // SAFETY: the caller's promise.
    let call = || unsafe {
        call_next(
            libc::SYS_seccomp,
            operation.into(),
            flags,
            arguments,
            0,
            0,
            0,
        )
    };
    // A result above 0 is a descriptor, or the id of a thread that could not be synchronised.
    let gives_descriptor = flags & libc::SECCOMP_FILTER_FLAG_NEW_LISTENER != 0;
    match operation {
        libc::SECCOMP_SET_MODE_STRICT | libc::SECCOMP_SET_MODE_FILTER => {
            sandbox::enter(call, |result| {
                result == 0 || (result > 0 && gives_descriptor)
            })
        }
        _ => call(),
    }
}

/// prctl(2).
///
/// # Safety
/// As prctl(2).
unsafe extern "C-unwind" fn prctl_by_number(
    option: c_ulong,
    second: c_ulong,
    third: c_ulong,
    fourth: c_ulong,
    fifth: c_ulong,
) -> c_long {
    // SAFETY: the caller's promise.
    let call = || unsafe { call_next(libc::SYS_prctl, option, second, third, fourth, fifth, 0) };
    // The kernel uses only 32 bits of the option.
    if sandbox::enters_sandbox(option as c_int, second) {
        sandbox::enter(call, |result| result >= 0)
    } else {
        call()
    }
}
