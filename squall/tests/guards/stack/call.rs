//! Calls a function with zeros in the registers that functions preserve.
//!
//! The function saves these registers on the stack. If a test had words of a key in them, the search would
//! find the test's own words there.

use std::arch::naked_asm;

/// Calls `work` with zeros in these registers, and leaves none of the test's values on the stack.
pub fn with_clear_registers(work: &dyn Fn()) {
    extern "C" fn run(work: &&dyn Fn()) {
        work();
    }
    // SAFETY: `run` takes what is passed to it.
    unsafe { call(&work, run) };
}

/// # Safety
/// `function` may be called with `argument`.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
unsafe extern "C" fn call(argument: &&dyn Fn(), function: extern "C" fn(&&dyn Fn())) {
    naked_asm!(
        "push rbx",
        "push rbp",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "sub rsp, 8",
        "xor ebx, ebx",
        "xor ebp, ebp",
        "xor r12d, r12d",
        "xor r13d, r13d",
        "xor r14d, r14d",
        "xor r15d, r15d",
        "call rsi",
        "add rsp, 8",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbp",
        "pop rbx",
        "mov qword ptr [rsp - 8], 0",
        "mov qword ptr [rsp - 16], 0",
        "mov qword ptr [rsp - 24], 0",
        "mov qword ptr [rsp - 32], 0",
        "mov qword ptr [rsp - 40], 0",
        "mov qword ptr [rsp - 48], 0",
        "ret",
    )
}

/// # Safety
/// `function` may be called with `argument`.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
unsafe extern "C" fn call(argument: &&dyn Fn(), function: extern "C" fn(&&dyn Fn())) {
    naked_asm!(
        "stp x29, x30, [sp, #-160]!",
        "stp x19, x20, [sp, #16]",
        "stp x21, x22, [sp, #32]",
        "stp x23, x24, [sp, #48]",
        "stp x25, x26, [sp, #64]",
        "stp x27, x28, [sp, #80]",
        "stp d8, d9, [sp, #96]",
        "stp d10, d11, [sp, #112]",
        "stp d12, d13, [sp, #128]",
        "stp d14, d15, [sp, #144]",
        ".irp n, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28",
        "mov x\\n, #0",
        ".endr",
        ".irp n, 8, 9, 10, 11, 12, 13, 14, 15",
        "movi v\\n\\().2d, #0",
        ".endr",
        "blr x1",
        "ldp x19, x20, [sp, #16]",
        "ldp x21, x22, [sp, #32]",
        "ldp x23, x24, [sp, #48]",
        "ldp x25, x26, [sp, #64]",
        "ldp x27, x28, [sp, #80]",
        "ldp d8, d9, [sp, #96]",
        "ldp d10, d11, [sp, #112]",
        "ldp d12, d13, [sp, #128]",
        "ldp d14, d15, [sp, #144]",
        ".irp at, 16, 32, 48, 64, 80, 96, 112, 128, 144",
        "stp xzr, xzr, [sp, #\\at]",
        ".endr",
        "ldp x29, x30, [sp], #160",
        "ret",
    )
}

/// # Safety
/// `function` may be called with `argument`.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
unsafe fn call(argument: &&dyn Fn(), function: extern "C" fn(&&dyn Fn())) {
    function(argument);
}
