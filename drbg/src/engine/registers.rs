//! Clears keys, counters and keystream from the CPU's registers.
//!
//! Round keys stay in vector registers until something overwrites them, and from there reach core
//! dumps and the stacks of signal handlers. So the outermost function that handles a key (a public
//! function, or the slow path of a draw) holds the guard of [`clear_on_return`] until it returns:
//! once for the whole operation, because each clearing takes a few nanoseconds.
//!
//! On x86-64 and aarch64 this clears all vector registers that the system saves (on aarch64 but for the
//! low halves of eight, which belong to the caller), and the caller-saved general registers. The
//! registers of other CPUs are not cleared. On aarch64 the guard also makes the CPU execute
//! instructions in a time that does not depend on their data, for as long as the guard is held.

#[cfg(target_arch = "aarch64")]
mod timing;

use crate::failpoint::{self, Failpoint};

/// Clears the registers when it is dropped. Declare it first, so that it is dropped last.
#[must_use]
#[derive(Debug)]
pub struct ClearOnReturn {
    #[cfg(target_arch = "aarch64")]
    _timing: timing::ConstantTime,
}

/// Returns a guard to keep until the function returns: `let _clear = registers::clear_on_return();`.
#[inline]
pub fn clear_on_return() -> ClearOnReturn {
    ClearOnReturn {
        #[cfg(target_arch = "aarch64")]
        _timing: timing::ConstantTime::begin(),
    }
}

impl Drop for ClearOnReturn {
    #[inline]
    fn drop(&mut self) {
        if !failpoint::is_active(Failpoint::SkipRegisterClearing) {
            clear();
        }
    }
}

/// Miri has no assembly.
#[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
fn clear() {}

/// General registers that a call may change. x18 is among them on Linux; other systems keep it for themselves.
#[cfg(all(target_arch = "aarch64", target_os = "linux", not(miri)))]
macro_rules! caller_saved {
    () => {
        "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18"
    };
}
#[cfg(all(target_arch = "aarch64", not(target_os = "linux"), not(miri)))]
macro_rules! caller_saved {
    () => {
        "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17"
    };
}

/// Clears the registers. To the compiler it is an ordinary call, across which nothing is kept in them.
///
/// Writing a register of 64 or 128 bits clears the rest of it, SVE's part included (Arm ARM, "The SIMD and
/// floating-point register file"). Of v8 to v15 the low 64 bits are the caller's (AAPCS64 section 6.1.2).
#[cfg(all(target_arch = "aarch64", not(miri)))]
#[unsafe(naked)]
extern "C" fn clear() {
    core::arch::naked_asm!(
        ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31",
        "movi v\\n\\().2d, #0",
        ".endr",
        ".irp n, 8, 9, 10, 11, 12, 13, 14, 15",
        "fmov d\\n, d\\n",
        ".endr",
        concat!(".irp n, ", caller_saved!()),
        "mov x\\n, #0",
        ".endr",
        "ret",
    )
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline]
fn clear() {
    use crate::cpuid::{Features, has};

    // Independent of the engine in use: the C library's memcpy takes the widest registers there are.
    if has(Features::ZMM) {
        // SAFETY: the CPU has these registers, and so AVX-512F.
        unsafe { clear_avx512() }
    } else if has(Features::AVX) {
        // SAFETY: the CPU has AVX.
        unsafe { clear_avx() }
    } else {
        clear_sse()
    }
}

/// Clears registers by these instructions, and the caller-saved general registers.
#[cfg(all(target_arch = "x86_64", not(miri)))]
macro_rules! clear_by {
    ($($instruction:literal),*) => {
        core::arch::asm!(
            $($instruction,)*
            "xor eax, eax", "xor ecx, ecx", "xor edx, edx", "xor esi, esi", "xor edi, edi",
            "xor r8d, r8d", "xor r9d, r9d", "xor r10d, r10d", "xor r11d, r11d",
            clobber_abi("sysv64"),
            options(nostack),
        )
    };
}

/// # Safety
/// The CPU must have AVX-512F.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(never)]
unsafe fn clear_avx512() {
    // SAFETY: the caller guarantees AVX-512F; every overwritten register is declared.
    unsafe {
        clear_by!(
            "vzeroall",
            "vpxord zmm16, zmm16, zmm16",
            "vpxord zmm17, zmm17, zmm17",
            "vpxord zmm18, zmm18, zmm18",
            "vpxord zmm19, zmm19, zmm19",
            "vpxord zmm20, zmm20, zmm20",
            "vpxord zmm21, zmm21, zmm21",
            "vpxord zmm22, zmm22, zmm22",
            "vpxord zmm23, zmm23, zmm23",
            "vpxord zmm24, zmm24, zmm24",
            "vpxord zmm25, zmm25, zmm25",
            "vpxord zmm26, zmm26, zmm26",
            "vpxord zmm27, zmm27, zmm27",
            "vpxord zmm28, zmm28, zmm28",
            "vpxord zmm29, zmm29, zmm29",
            "vpxord zmm30, zmm30, zmm30",
            "vpxord zmm31, zmm31, zmm31"
        )
    }
}

/// # Safety
/// The CPU must have AVX.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(never)]
unsafe fn clear_avx() {
    // SAFETY: the caller guarantees AVX; every overwritten register is declared.
    unsafe { clear_by!("vzeroall") }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(never)]
fn clear_sse() {
    // SAFETY: SSE2 is part of x86-64; every overwritten register is declared.
    unsafe {
        clear_by!(
            "pxor xmm0, xmm0",
            "pxor xmm1, xmm1",
            "pxor xmm2, xmm2",
            "pxor xmm3, xmm3",
            "pxor xmm4, xmm4",
            "pxor xmm5, xmm5",
            "pxor xmm6, xmm6",
            "pxor xmm7, xmm7",
            "pxor xmm8, xmm8",
            "pxor xmm9, xmm9",
            "pxor xmm10, xmm10",
            "pxor xmm11, xmm11",
            "pxor xmm12, xmm12",
            "pxor xmm13, xmm13",
            "pxor xmm14, xmm14",
            "pxor xmm15, xmm15"
        )
    }
}
