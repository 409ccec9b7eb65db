//! CPU feature detection on x86-64.
//!
//! The standard library's detection executes CPUID about ten times before its first answer. In a
//! VM each CPUID traps for several microseconds; together they took half of the time to a process's
//! first random bytes. glibc 2.33 and later keeps the answers of the process's start. Without it, one CPUID is enough
//! for the features that the first bytes need, and two for all of them. On Linux the
//! kernel says whether the instruction may be used; without an operating system it always may.

#![allow(missing_docs, reason = "hidden: only `squall` uses it")]

use core::arch::x86_64::{__cpuid_count, _xgetbv, CpuidResult};
use core::sync::atomic::{AtomicU8, AtomicU32, Ordering};

#[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
use crate::failpoint::{self, Failpoint};

/// A set of features, one bit each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Features(u32);

impl Features {
    pub const SSSE3: Features = Features(1);
    pub const AES: Features = Features(1 << 1);
    pub const RDRAND: Features = Features(1 << 2);
    pub const HYPERVISOR: Features = Features(1 << 3);
    pub const AVX2: Features = Features(1 << 4);
    pub const VAES: Features = Features(1 << 5);
    pub const AVX512F: Features = Features(1 << 6);
    pub const AVX512BW: Features = Features(1 << 7);
    pub const AVX512VL: Features = Features(1 << 8);
    pub const AVX: Features = Features(1 << 9);
    /// The system saves the AVX-512 registers, which implies that the CPU has them.
    pub const ZMM: Features = Features(1 << 10);
    /// XGETBV is available and reports which registers the system saves.
    const OSXSAVE: Features = Features(1 << 11);
    pub const RDPID: Features = Features(1 << 12);

    /// The features that CPUID leaf 1 reports.
    const BASIC: Features = Features::SSSE3
        .and(Features::AES)
        .and(Features::RDRAND)
        .and(Features::HYPERVISOR)
        .and(Features::AVX)
        .and(Features::ZMM)
        .and(Features::OSXSAVE);

    /// What the program was compiled for: Miri interprets these instructions, and has no CPUID.
    const COMPILED_FOR: Features = Features(0)
        .and(Features::SSSE3.if_bit(cfg!(target_feature = "ssse3") as u32, 0))
        .and(Features::AES.if_bit(cfg!(target_feature = "aes") as u32, 0))
        .and(Features::AVX.if_bit(cfg!(target_feature = "avx") as u32, 0))
        .and(Features::AVX2.if_bit(cfg!(target_feature = "avx2") as u32, 0))
        .and(Features::VAES.if_bit(cfg!(target_feature = "vaes") as u32, 0))
        .and(Features::AVX512F.if_bit(cfg!(target_feature = "avx512f") as u32, 0))
        .and(Features::AVX512BW.if_bit(cfg!(target_feature = "avx512bw") as u32, 0))
        .and(Features::AVX512VL.if_bit(cfg!(target_feature = "avx512vl") as u32, 0));

    /// Set once CPUID was executed.
    const KNOWN: Features = Features(1 << 31);

    pub const fn and(self, other: Features) -> Features {
        Features(self.0 | other.0)
    }

    const fn contains(self, other: Features) -> bool {
        self.0 & other.0 == other.0
    }

    /// The register states that the system saves, as bits of XCR0.
    fn saved_registers(self) -> u64 {
        if self.contains(Features::OSXSAVE) {
            // SAFETY: OSXSAVE says that XGETBV is there.
            unsafe { xcr0() }
        } else {
            0
        }
    }

    const fn if_bit(self, register: u32, bit: u32) -> Features {
        Features(if register >> bit & 1 == 1 { self.0 } else { 0 })
    }
}

/// Whether the CPU has all of these features and the system saves the registers they use.
#[inline]
pub fn has(features: Features) -> bool {
    static BASIC: FeatureCache = FeatureCache::empty();
    static ALL: FeatureCache = FeatureCache::empty();
    // Where the instruction is switched off, the machine counts as a VM.
    let ecx = || cpuid(1).map_or(1 << HYPERVISOR_BIT, |found| found.ecx);
    let basic = || BASIC.get_or_detect(|| basic(ecx()));
    let found = if cfg!(miri) {
        Features::COMPILED_FOR
    } else if Features::BASIC.contains(features) {
        basic()
    } else {
        ALL.get_or_detect(|| with_extended(basic()))
    };
    found.contains(features)
}

/// The features that CPUID reported, cached.
struct FeatureCache(AtomicU32);

impl FeatureCache {
    const fn empty() -> FeatureCache {
        FeatureCache(AtomicU32::new(0))
    }

    #[inline]
    fn get_or_detect(&self, detect: impl FnOnce() -> Features) -> Features {
        match self.0.load(Ordering::Relaxed) {
            0 => {
                let found = detect().and(Features::KNOWN);
                self.0.store(found.0, Ordering::Relaxed);
                found
            }
            found => Features(found),
        }
    }
}

/// The bit of leaf 1's ECX by which a hypervisor announces itself.
const HYPERVISOR_BIT: u32 = 31;

/// CPUID's answer for `leaf`, subleaf 0; `None` if the instruction was off when the process first needed
/// it, because it would end the process (ARCH_SET_CPUID(2const)). The kernel is asked once, because a
/// sandbox may end whoever asks later.
pub fn cpuid(leaf: u32) -> Option<CpuidResult> {
    const ON: u8 = 1;
    const OFF: u8 = 2;
    static ANSWER: AtomicU8 = AtomicU8::new(0);
    let mut answer = ANSWER.load(Ordering::Relaxed);
    if answer == 0 {
        answer = if is_switched_off() { OFF } else { ON };
        ANSWER.store(answer, Ordering::Relaxed);
    }
    // Only after the question, because leaves that are not kept may first be needed in a sandbox.
    #[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
    if let Some(found) = glibc::kept(leaf)
        && !failpoint::is_active(Failpoint::HideKeptCpuid)
    {
        return Some(found);
    }
    (answer == ON).then(|| __cpuid_count(leaf, 0))
}

/// Whether the kernel lets CPUID end this process: arch_prctl(ARCH_GET_CPUID). Kernels before 4.12, which do not know
/// the question, never do.
#[cfg(all(target_os = "linux", target_pointer_width = "64", not(miri)))]
fn is_switched_off() -> bool {
    const SYS_ARCH_PRCTL: usize = 158;
    const ARCH_GET_CPUID: usize = 0x1011;
    let answer: usize;
    // SAFETY: the call only asks; the kernel changes RCX and R11.
    unsafe {
        core::arch::asm!(
            "syscall",
            inlateout("rax") SYS_ARCH_PRCTL => answer,
            in("rdi") ARCH_GET_CPUID,
            in("rsi") 0usize,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack, readonly),
        );
    }
    answer == 0
}

/// Neither Miri nor an SGX enclave has CPUID.
#[cfg(any(miri, target_env = "sgx"))]
fn is_switched_off() -> bool {
    true
}

#[cfg(not(any(
    all(target_os = "linux", target_pointer_width = "64"),
    miri,
    target_env = "sgx"
)))]
fn is_switched_off() -> bool {
    false
}

/// What glibc has kept of CPUID since the start of the process: reading it does not trap.
#[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
mod glibc {
    use core::arch::asm;
    use core::arch::x86_64::CpuidResult;

    /// `struct cpuid_feature` of glibc's sys/platform/x86.h.
    #[repr(C)]
    struct Kept {
        /// What CPUID reported, in EAX, EBX, ECX and EDX.
        cpuid: [u32; 4],
        active: [u32; 4],
    }

    /// CPUID's answer for leaf 1 or 7; `None` for another leaf, and before glibc 2.33.
    pub fn kept(leaf: u32) -> Option<CpuidResult> {
        let index = match leaf {
            1 => 0,
            7 => 1,
            _ => return None,
        };
        let function: usize;
        // SAFETY: reads the entry of a symbol in the global offset table, which is 0 if nobody defines the symbol.
        unsafe {
            asm!(
                ".weak __x86_get_cpuid_feature_leaf",
                "mov {}, qword ptr [rip + __x86_get_cpuid_feature_leaf@GOTPCREL]",
                out(reg) function,
                options(pure, readonly, preserves_flags, nostack),
            );
        }
        if function == 0 {
            return None;
        }
        // SAFETY: it is glibc's function of this type, and what it returns lives as long as the process.
        let Kept { cpuid, .. } = unsafe {
            let function: extern "C" fn(u32) -> *const Kept = core::mem::transmute(function);
            &*function(index)
        };
        let [eax, ebx, ecx, edx] = *cpuid;
        Some(CpuidResult { eax, ebx, ecx, edx })
    }
}

const YMM_STATE: u64 = 0b110;
const ZMM_STATE: u64 = 0b1110_0110;

/// The features in register ECX of leaf 1 (Intel SDM volume 2A, CPUID) whose registers the system
/// saves.
fn basic(ecx: u32) -> Features {
    let found = Features::SSSE3
        .if_bit(ecx, 9)
        .and(Features::AES.if_bit(ecx, 25))
        .and(Features::RDRAND.if_bit(ecx, 30))
        .and(Features::OSXSAVE.if_bit(ecx, 27))
        .and(Features::HYPERVISOR.if_bit(ecx, HYPERVISOR_BIT));
    let saved = found.saved_registers();
    let if_saved = |state, feature: Features| feature.if_bit(u32::from(saved & state == state), 0);
    found
        .and(if_saved(YMM_STATE, Features::AVX.if_bit(ecx, 28)))
        .and(if_saved(ZMM_STATE, Features::ZMM))
}

/// `basic`, and the features of leaf 7 whose registers the system saves (volume 1, section 15.2
/// for AVX-512).
#[cold]
fn with_extended(basic: Features) -> Features {
    // A system that saves these registers found leaf 13, so leaf 7 exists too.
    if !basic.contains(Features::AVX) {
        return basic;
    }
    let Some(extended) = cpuid(7) else {
        return basic;
    };
    let mut found = basic
        .and(Features::AVX2.if_bit(extended.ebx, 5))
        .and(Features::VAES.if_bit(extended.ecx, 9))
        .and(Features::RDPID.if_bit(extended.ecx, 22));
    if basic.contains(Features::ZMM) {
        found = found
            .and(Features::AVX512F.if_bit(extended.ebx, 16))
            .and(Features::AVX512BW.if_bit(extended.ebx, 30))
            .and(Features::AVX512VL.if_bit(extended.ebx, 31));
    }
    found
}

#[target_feature(enable = "xsave")]
fn xcr0() -> u64 {
    // SAFETY: register 0 exists wherever XGETBV does.
    unsafe { _xgetbv(0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_standard_library() {
        macro_rules! agree {
            ($($feature:ident $name:tt),*) => {$(
                assert_eq!(has(Features::$feature), is_x86_feature_detected!($name), $name);
            )*};
        }
        agree!(SSSE3 "ssse3", AES "aes", RDRAND "rdrand", AVX "avx", AVX2 "avx2", VAES "vaes");
        agree!(AVX512F "avx512f", AVX512BW "avx512bw", AVX512VL "avx512vl");
        assert!(!has(Features(1 << 30)));
    }

    /// Leaf 0 is not among those that glibc keeps.
    #[test]
    #[cfg(not(miri))]
    fn cpuid_is_executed_for_what_nobody_has_kept() {
        assert_eq!(cpuid(0), Some(__cpuid_count(0, 0)));
    }

    /// Whatever the CPU has, the system may not save its registers.
    #[test]
    #[cfg(not(miri))]
    fn what_the_system_does_not_save_is_not_used() {
        let without_avx = basic(0).and(Features::AES);
        assert_eq!(with_extended(without_avx), without_avx);
        let without_zmm = with_extended(Features::AVX);
        assert!(!without_zmm.contains(Features::AVX512F));
    }

    #[test]
    fn each_feature_has_a_bit_of_its_own() {
        let features = [
            Features::SSSE3,
            Features::AES,
            Features::RDRAND,
            Features::HYPERVISOR,
            Features::AVX2,
            Features::VAES,
            Features::AVX512F,
            Features::AVX512BW,
            Features::AVX512VL,
            Features::AVX,
            Features::ZMM,
            Features::OSXSAVE,
            Features::RDPID,
            Features::KNOWN,
        ];
        let all = features.iter().fold(0, |all, feature| all | feature.0);
        assert!(features.iter().all(|feature| feature.0.count_ones() == 1));
        assert_eq!(all.count_ones() as usize, features.len());
    }

    #[test]
    #[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
    fn glibc_keeps_what_cpuid_reports() {
        for leaf in [1, 7] {
            let Some(kept) = glibc::kept(leaf) else {
                continue;
            };
            let now = __cpuid_count(leaf, 0);
            // Register EBX of leaf 1 has the number of the CPU that runs this.
            assert_eq!((kept.ecx, kept.edx), (now.ecx, now.edx), "leaf {leaf}");
        }
    }
}
