//! clone(2) on x86-64.

use core::arch::naked_asm;
use core::ffi::{c_int, c_void};

use super::{CHECKED_FLAGS, SHARING_FLAGS, look_up};
use crate::{agreement, real};

/// clone(2), passed on to the C library. All arguments stay in place, because it returns twice.
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
        // The C library refuses these arguments, so no child is made.
        "test rdi, rdi",
        "jz 2f",
        "test rsi, rsi",
        "jz 2f",
        "mov r11d, edx",
        "and r11d, {checked_flags}",
        "cmp r11d, {sharing_flags}",
        "jne 2f",
        "mov word ptr [rip + {accepted}], {closed}",
        "2:",
        "mov r11, qword ptr [rip + {real}]",
        "test r11, r11",
        "jnz 3f",
        // The constructor of this library has not run yet.
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
        // Variadic functions expect the number of vector registers with arguments in `al`.
        "xor eax, eax",
        "jmp r11",
        ".cfi_endproc",
        checked_flags = const CHECKED_FLAGS,
        sharing_flags = const SHARING_FLAGS,
        accepted = sym agreement::ACCEPTED_FLAGS,
        closed = const agreement::KERNEL_ONLY,
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
