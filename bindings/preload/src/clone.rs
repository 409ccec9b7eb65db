//! clone(2): a child that shares its parent's memory and its thread pointer.
//!
//! Two tasks that run at once and have one thread's variables between them would draw from one state
//! without knowing of each other. Nothing tells them apart at a cost that each request could bear.
//! So when one is made, the kernel is left to serve every request of the process, for good
//! ([`gate::CLOSED`]). Threads have a pointer of their own (CLONE_SETTLS), and the parent of a vfork(2)
//! waits.
//!
//! On x86-64 alone; [`crate::syscall`] sees those that are made by number. The C library's own calls
//! are not seen, and are none of this kind.

use core::arch::naked_asm;
use core::ffi::{c_int, c_void};

use crate::{gate, real};

/// Flags that decide, and how they are set for such a child.
pub(crate) const SHARING: c_int = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_SETTLS;
pub(crate) const SHARES: c_int = libc::CLONE_VM;

/// clone(2), as the C library has it. Every argument stays where it was, because it returns twice.
///
/// # Safety
/// As clone(2).
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn clone(
    function: *mut c_void,
    stack: *mut c_void,
    flags: c_int,
) -> c_int {
    naked_asm!(
        ".cfi_startproc",
        // What the C library refuses makes nobody.
        "test rdi, rdi",
        "jz 2f",
        "test rsi, rsi",
        "jz 2f",
        "mov r11d, edx",
        "and r11d, {sharing}",
        "cmp r11d, {shares}",
        "jne 2f",
        "mov word ptr [rip + {agreed}], {closed}",
        "2:",
        "mov r11, qword ptr [rip + {real}]",
        "test r11, r11",
        "jnz 3f",
        // Before this library's constructor.
        "push rdi",
        "push rsi",
        "push rdx",
        "push rcx",
        "push r8",
        "push r9",
        "sub rsp, 8",
        ".cfi_adjust_cfa_offset 56",
        "call {look_up}",
        "mov r11, rax",
        "add rsp, 8",
        "pop r9",
        "pop r8",
        "pop rcx",
        "pop rdx",
        "pop rsi",
        "pop rdi",
        ".cfi_adjust_cfa_offset -56",
        "3:",
        // A variadic function is told how many arguments are in vector registers.
        "xor eax, eax",
        "jmp r11",
        ".cfi_endproc",
        sharing = const SHARING,
        shares = const SHARES,
        agreed = sym gate::AGREED,
        closed = const gate::CLOSED,
        real = sym real::CLONE,
        look_up = sym look_up,
    )
}

/// clone(2) by its other name.
///
/// # Safety
/// As clone(2).
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __clone(
    function: *mut c_void,
    stack: *mut c_void,
    flags: c_int,
) -> c_int {
    naked_asm!("jmp {clone}", clone = sym clone)
}

/// The next library's; the process ends if there is none, which the C library always has.
extern "C" fn look_up() -> *mut c_void {
    // SAFETY: the name ends with a null byte.
    let place = unsafe { libc::dlsym(libc::RTLD_NEXT, c"clone".as_ptr()) };
    if place.is_null() {
        // SAFETY: ends the process.
        unsafe { libc::abort() };
    }
    place
}
