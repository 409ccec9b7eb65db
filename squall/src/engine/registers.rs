//! Clears keys, counters and keystream from the CPU's registers.
//!
//! Round keys stay in vector registers until something overwrites them, and from there reach core
//! dumps and the stacks of signal handlers. So the outermost function that handles a key (a public
//! function, or the slow path of a draw) holds the guard of [`clear_on_return`] until it returns:
//! once for the whole operation, because each clearing takes a few nanoseconds.
//!
//! On x86-64 and aarch64 this clears all vector registers that the system saves (on aarch64 but for the
//! low halves of eight, which belong to the caller), and the caller-saved general registers. Other
//! CPUs' registers are not cleared. On aarch64 the guard also has the CPU keep instructions' times
//! independent of data while it is held.

#[cfg(target_arch = "aarch64")]
mod timing;

use crate::failpoint::{self, Failpoint};

/// Clears the registers when it is dropped. Declare it first, so that it is dropped last.
#[must_use]
pub(crate) struct ClearOnReturn {
    #[cfg(target_arch = "aarch64")]
    _timing: timing::Constant,
}

/// Returns a guard to keep until the function returns: `let _clear = registers::clear_on_return();`.
#[inline]
pub(crate) fn clear_on_return() -> ClearOnReturn {
    ClearOnReturn {
        #[cfg(target_arch = "aarch64")]
        _timing: timing::Constant::begin(),
    }
}

impl Drop for ClearOnReturn {
    #[inline]
    fn drop(&mut self) {
        if !failpoint::is_off(Failpoint::RegisterClearing) {
            clear();
        }
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn clear() {}

/// A function of its own, so that the compiler keeps nothing in these registers across it.
///
/// Writing a register of 64 or 128 bits clears the rest of it, SVE's part included (Arm ARM, "The SIMD and
/// floating-point register file"). Of v8 to v15 the low 64 bits are the caller's (AAPCS64 section 6.1.2).
#[cfg(target_arch = "aarch64")]
#[inline(never)]
fn clear() {
    // SAFETY: every overwritten register is declared; v8 to v15 keep what the caller has in them.
    unsafe {
        core::arch::asm!(
            "movi v0.2d, #0",
            "movi v1.2d, #0",
            "movi v2.2d, #0",
            "movi v3.2d, #0",
            "movi v4.2d, #0",
            "movi v5.2d, #0",
            "movi v6.2d, #0",
            "movi v7.2d, #0",
            "fmov d8, d8",
            "fmov d9, d9",
            "fmov d10, d10",
            "fmov d11, d11",
            "fmov d12, d12",
            "fmov d13, d13",
            "fmov d14, d14",
            "fmov d15, d15",
            "movi v16.2d, #0",
            "movi v17.2d, #0",
            "movi v18.2d, #0",
            "movi v19.2d, #0",
            "movi v20.2d, #0",
            "movi v21.2d, #0",
            "movi v22.2d, #0",
            "movi v23.2d, #0",
            "movi v24.2d, #0",
            "movi v25.2d, #0",
            "movi v26.2d, #0",
            "movi v27.2d, #0",
            "movi v28.2d, #0",
            "movi v29.2d, #0",
            "movi v30.2d, #0",
            "movi v31.2d, #0",
            "mov x0, #0",
            "mov x1, #0",
            "mov x2, #0",
            "mov x3, #0",
            "mov x4, #0",
            "mov x5, #0",
            "mov x6, #0",
            "mov x7, #0",
            "mov x8, #0",
            "mov x9, #0",
            "mov x10, #0",
            "mov x11, #0",
            "mov x12, #0",
            "mov x13, #0",
            "mov x14, #0",
            "mov x15, #0",
            "mov x16, #0",
            "mov x17, #0",
            clobber_abi("C"),
            options(nostack),
        )
    }
}

#[cfg(target_arch = "x86_64")]
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
#[cfg(target_arch = "x86_64")]
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
#[cfg(target_arch = "x86_64")]
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
#[cfg(target_arch = "x86_64")]
#[inline(never)]
unsafe fn clear_avx() {
    // SAFETY: the caller guarantees AVX; every overwritten register is declared.
    unsafe { clear_by!("vzeroall") }
}

#[cfg(target_arch = "x86_64")]
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
