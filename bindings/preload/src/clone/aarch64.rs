//! clone(2) on aarch64.

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
        "cbz x0, 2f",
        "cbz x1, 2f",
        "mov w9, {checked_flags_low}",
        "movk w9, {checked_flags_high}, lsl #16",
        "and w9, w2, w9",
        "cmp w9, {sharing_flags}",
        "b.ne 2f",
        "adrp x9, {accepted}",
        "add x9, x9, :lo12:{accepted}",
        "mov w10, {closed}",
        "stlrh w10, [x9]",
        "2:",
        "adrp x16, {real}",
        "ldr x16, [x16, :lo12:{real}]",
        "cbnz x16, 3f",
        // The constructor of this library has not run yet.
        "stp x29, x30, [sp, #-80]!",
        ".cfi_adjust_cfa_offset 80",
        ".cfi_offset x29, -80",
        ".cfi_offset x30, -72",
        "stp x0, x1, [sp, #16]",
        "stp x2, x3, [sp, #32]",
        "stp x4, x5, [sp, #48]",
        "str x6, [sp, #64]",
        "bl {look_up}",
        "mov x16, x0",
        "ldp x0, x1, [sp, #16]",
        "ldp x2, x3, [sp, #32]",
        "ldp x4, x5, [sp, #48]",
        "ldr x6, [sp, #64]",
        "ldp x29, x30, [sp], #80",
        ".cfi_adjust_cfa_offset -80",
        ".cfi_restore x29",
        ".cfi_restore x30",
        "3:",
        "br x16",
        ".cfi_endproc",
        checked_flags_low = const CHECKED_FLAGS & 0xffff,
        checked_flags_high = const CHECKED_FLAGS >> 16,
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
    naked_asm!("b {clone}", clone = sym clone)
}
