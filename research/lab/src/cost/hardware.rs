//! The CPU features that matter for the old RNG: the random instruction, which kernels XORed to a
//! pool's output, and the SHA instructions, which kernels of its time did not use.

#![allow(unsafe_code)]

use squall_legacy_rng::HardwareRandom;

/// The random instruction, or None if the CPU has none.
pub fn random() -> Option<HardwareRandom> {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("rdrand") {
        return Some(word);
    }
    None
}

/// Whether the CPU has SHA instructions that the `sha1` crate can use.
pub fn has_sha() -> bool {
    #[cfg(target_arch = "x86_64")]
    return is_x86_feature_detected!("sha");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

#[cfg(target_arch = "x86_64")]
fn word() -> Option<u64> {
    #[target_feature(enable = "rdrand")]
    fn rdrand() -> Option<u64> {
        let mut word = 0;
        (core::arch::x86_64::_rdrand64_step(&mut word) == 1).then_some(word)
    }
    // SAFETY: only `random` returns this function, after it has found the instruction.
    unsafe { rdrand() }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    /// Whether the kernel lists `flag` for the CPU.
    fn kernel_has(flag: &str) -> bool {
        let info = std::fs::read_to_string("/proc/cpuinfo").expect("/proc/cpuinfo");
        info.split_ascii_whitespace().any(|word| word == flag)
    }

    #[test]
    fn detection_agrees_with_the_kernel() {
        assert_eq!(random().is_some(), kernel_has("rdrand"));
        assert_eq!(has_sha(), kernel_has("sha_ni"));
    }

    /// This fails by chance once in 2^64 runs.
    #[test]
    fn words_differ() {
        if let Some(source) = random() {
            assert_ne!(source(), source());
        }
    }
}
