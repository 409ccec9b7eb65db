//! What of the CPU the old RNG uses: the random instruction, as kernels XORed it to what came out
//! of a pool, and the SHA instructions, which kernels of its time did not have.

#![allow(unsafe_code)]

use squall_legacy_rng::HardwareRandom;

/// The random instruction, if there is one.
pub fn random() -> Option<HardwareRandom> {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("rdrand") {
        return Some(word);
    }
    None
}

/// Whether the `sha1` crate has instructions to use.
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
    // SAFETY: only `random` gives this function out, which has found the instruction.
    unsafe { rdrand() }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    /// Whether the kernel knows the CPU to have `flag`.
    fn kernel_has(flag: &str) -> bool {
        let info = std::fs::read_to_string("/proc/cpuinfo").expect("/proc/cpuinfo");
        info.split_ascii_whitespace().any(|word| word == flag)
    }

    #[test]
    fn found_where_the_kernel_finds_it() {
        assert_eq!(random().is_some(), kernel_has("rdrand"));
        assert_eq!(has_sha(), kernel_has("sha_ni"));
    }

    /// By chance once in 2^64 runs they do not.
    #[test]
    fn words_differ() {
        if let Some(source) = random() {
            assert_ne!(source(), source());
        }
    }
}
