//! syscall(2) and clone(2) on x86-64.

use core::arch::naked_asm;
use core::ffi::{c_int, c_long, c_ulong, c_void};

use super::{
    CHECKED_FLAGS, SHARING_FLAGS, before_clone3, getrandom_by_number, look_up, prctl_by_number,
    seccomp_by_number, set_errno,
};
use crate::{agreement, real, sandbox};

/// syscall(2).
///
/// # Safety
/// As for the call with this number. Variadic in C; with the calling convention of x86-64 (System V)
/// the number and five arguments are in registers, and a sixth is on the stack.
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn syscall(number: c_long) -> c_long {
    naked_asm!(
        ".cfi_startproc",
        "cmp rdi, {getrandom}",
        "je 2f",
        "cmp rdi, {seccomp}",
        "je 3f",
        "cmp rdi, {prctl}",
        "je 4f",
        "cmp rdi, {clone}",
        "je 6f",
        "cmp rdi, {clone3}",
        "je 7f",
        "cmp rdi, {arch_prctl}",
        "je 8f",
        "jmp {call_next}",
        "2:",
        "lea r11, [rip + {getrandom_here}]",
        "jmp 5f",
        "3:",
        "lea r11, [rip + {seccomp_here}]",
        "jmp 5f",
        "4:",
        "lea r11, [rip + {prctl_here}]",
        // Shift the arguments, to drop the number.
        "5:",
        "mov rdi, rsi",
        "mov rsi, rdx",
        "mov rdx, rcx",
        "mov rcx, r8",
        "mov r8, r9",
        "jmp r11",
        "8:",
        "lea r11, [rip + {arch_prctl_here}]",
        "jmp 5b",
        // The flags are clone's first argument.
        "6:",
        "mov r11d, esi",
        "and r11d, {checked_flags}",
        "cmp r11d, {sharing_flags}",
        "jne {call_next}",
        "mov word ptr [rip + {accepted}], {closed}",
        "jmp {call_next}",
        // clone3 has its flags in memory. It has two arguments.
        "7:",
        "push rdi",
        "push rsi",
        "push rdx",
        ".cfi_adjust_cfa_offset 24",
        "mov rdi, rsi",
        "mov rsi, rdx",
        "call {before_clone3}",
        "pop rdx",
        "pop rsi",
        "pop rdi",
        ".cfi_adjust_cfa_offset -24",
        "jmp {call_next}",
        ".cfi_endproc",
        getrandom = const libc::SYS_getrandom,
        seccomp = const libc::SYS_seccomp,
        prctl = const libc::SYS_prctl,
        getrandom_here = sym getrandom_by_number,
        seccomp_here = sym seccomp_by_number,
        prctl_here = sym prctl_by_number,
        clone = const libc::SYS_clone,
        clone3 = const libc::SYS_clone3,
        arch_prctl = const libc::SYS_arch_prctl,
        arch_prctl_here = sym arch_prctl_by_number,
        before_clone3 = sym before_clone3,
        checked_flags = const CHECKED_FLAGS,
        sharing_flags = const SHARING_FLAGS,
        accepted = sym agreement::ACCEPTED_FLAGS,
        closed = const agreement::KERNEL_ONLY,
        call_next = sym call_next,
    )
}

/// arch_prctl(2).
///
/// # Safety
/// As arch_prctl(2).
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn arch_prctl(operation: c_int, argument: c_ulong) -> c_int {
    /// Linux arch/x86/include/uapi/asm/prctl.h.
    const ARCH_SET_CPUID: c_int = 0x1012;
    // SAFETY: the caller's promise. A direct call, because not every C library has this function.
    let call = || unsafe {
        call_next(
            libc::SYS_arch_prctl,
            operation as c_ulong,
            argument,
            0,
            0,
            0,
            0,
        )
    };
    let result = if operation == ARCH_SET_CPUID && argument == 0 {
        sandbox::enter(call, |result| result == 0)
    } else {
        call()
    };
    result as c_int
}

/// arch_prctl(2), asked for by its number.
///
/// # Safety
/// As arch_prctl(2).
unsafe extern "C-unwind" fn arch_prctl_by_number(operation: c_int, argument: c_ulong) -> c_long {
    // SAFETY: the caller's promise. The kernel uses 32 bits of the operation.
    unsafe { arch_prctl(operation, argument) }.into()
}

/// The next library's syscall(2); or the instruction, used as in the C library, if there is none or
/// this library's constructor has not run.
///
/// # Safety
/// As [`syscall`].
#[unsafe(naked)]
pub(crate) unsafe extern "C-unwind" fn call_next(
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
        "mov r11, qword ptr [rip + {real}]",
        "test r11, r11",
        "jz 2f",
        // Variadic functions expect the number of vector registers with arguments in `al`.
        "xor eax, eax",
        "jmp r11",
        "2:",
        "mov rax, rdi",
        "mov rdi, rsi",
        "mov rsi, rdx",
        "mov rdx, rcx",
        "mov r10, r8",
        "mov r8, r9",
        "mov r9, qword ptr [rsp + 8]",
        "syscall",
        // Results from -4095 to -1 are errors (System V ABI for x86-64, A.2.1).
        "cmp rax, -4095",
        "jae 3f",
        "ret",
        "3:",
        "neg eax",
        "mov edi, eax",
        "sub rsp, 8",
        ".cfi_adjust_cfa_offset 8",
        "call {set_errno}",
        "add rsp, 8",
        ".cfi_adjust_cfa_offset -8",
        "mov rax, -1",
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
