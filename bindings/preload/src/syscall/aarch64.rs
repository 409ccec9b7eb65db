//! syscall(2) and clone(2) on aarch64.

use core::arch::naked_asm;
use core::ffi::{c_int, c_long, c_ulong, c_void};

use super::{
    CHECKED_FLAGS, SHARING_FLAGS, before_clone3, getrandom_by_number, look_up, prctl_by_number,
    seccomp_by_number, set_errno,
};
use crate::{agreement, real};

/// syscall(2).
///
/// # Safety
/// As for the call with this number. Variadic in C; on Linux the number and six arguments are in
/// registers as if it were not (AAPCS64 section 6.8.2).
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn syscall(number: c_long) -> c_long {
    naked_asm!(
        ".cfi_startproc",
        "cmp x0, {getrandom}",
        "b.eq 2f",
        "cmp x0, {seccomp}",
        "b.eq 3f",
        "cmp x0, {prctl}",
        "b.eq 4f",
        "cmp x0, {clone}",
        "b.eq 6f",
        "cmp x0, {clone3}",
        "b.eq 7f",
        "b {call_next}",
        "2:",
        "adrp x16, {getrandom_here}",
        "add x16, x16, :lo12:{getrandom_here}",
        "b 5f",
        "3:",
        "adrp x16, {seccomp_here}",
        "add x16, x16, :lo12:{seccomp_here}",
        "b 5f",
        "4:",
        "adrp x16, {prctl_here}",
        "add x16, x16, :lo12:{prctl_here}",
        // Shift the arguments, to drop the number.
        "5:",
        "mov x0, x1",
        "mov x1, x2",
        "mov x2, x3",
        "mov x3, x4",
        "mov x4, x5",
        "br x16",
        // The flags are clone's first argument.
        "6:",
        "mov w9, w1",
        "mov w10, {checked_flags_low}",
        "movk w10, {checked_flags_high}, lsl #16",
        "and w9, w9, w10",
        "cmp w9, {sharing_flags}",
        "b.ne 9f",
        "adrp x9, {accepted}",
        "add x9, x9, :lo12:{accepted}",
        "mov w10, {closed}",
        "stlrh w10, [x9]",
        "9:",
        "b {call_next}",
        // clone3 has its flags in memory. It has two arguments.
        "7:",
        "stp x29, x30, [sp, #-48]!",
        ".cfi_adjust_cfa_offset 48",
        ".cfi_offset x29, -48",
        ".cfi_offset x30, -40",
        "stp x0, x1, [sp, #16]",
        "str x2, [sp, #32]",
        "mov x0, x1",
        "mov x1, x2",
        "bl {before_clone3}",
        "ldp x0, x1, [sp, #16]",
        "ldr x2, [sp, #32]",
        "ldp x29, x30, [sp], #48",
        ".cfi_adjust_cfa_offset -48",
        ".cfi_restore x29",
        ".cfi_restore x30",
        "b {call_next}",
        ".cfi_endproc",
        getrandom = const libc::SYS_getrandom,
        seccomp = const libc::SYS_seccomp,
        prctl = const libc::SYS_prctl,
        getrandom_here = sym getrandom_by_number,
        seccomp_here = sym seccomp_by_number,
        prctl_here = sym prctl_by_number,
        clone = const libc::SYS_clone,
        clone3 = const libc::SYS_clone3,
        before_clone3 = sym before_clone3,
        checked_flags_low = const CHECKED_FLAGS & 0xffff,
        checked_flags_high = const CHECKED_FLAGS >> 16,
        sharing_flags = const SHARING_FLAGS,
        accepted = sym agreement::ACCEPTED_FLAGS,
        closed = const agreement::KERNEL_ONLY,
        call_next = sym call_next,
    )
}

/// The next library's syscall(2); or the instruction, used as in the C library, if there is none or
/// this library's constructor has not run.
///
/// # Safety
/// As [`syscall`].
#[unsafe(naked)]
pub(super) unsafe extern "C-unwind" fn call_next(
    number: c_long,
    first: c_ulong,
    second: c_ulong,
    third: c_ulong,
    fourth: c_ulong,
    fifth: c_ulong,
    sixth: c_ulong,
) -> c_long {
    naked_asm!(
        ".cfi_startproc",
        "adrp x16, {real}",
        "ldr x16, [x16, :lo12:{real}]",
        "cbz x16, 2f",
        "br x16",
        "2:",
        "mov x8, x0",
        "mov x0, x1",
        "mov x1, x2",
        "mov x2, x3",
        "mov x3, x4",
        "mov x4, x5",
        "mov x5, x6",
        "svc #0",
        // Results from -4095 to -1 are errors (as in Linux tools/include/nolibc/arch-arm64.h).
        "cmn x0, #4095",
        "b.hs 3f",
        "ret",
        "3:",
        "neg w0, w0",
        "stp x29, x30, [sp, #-16]!",
        ".cfi_adjust_cfa_offset 16",
        ".cfi_offset x29, -16",
        ".cfi_offset x30, -8",
        "bl {set_errno}",
        "ldp x29, x30, [sp], #16",
        ".cfi_adjust_cfa_offset -16",
        ".cfi_restore x29",
        ".cfi_restore x30",
        "mov x0, #-1",
        "ret",
        ".cfi_endproc",
        real = sym real::SYSCALL,
        set_errno = sym set_errno,
    )
}

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
