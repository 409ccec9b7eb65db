//! CPU feature detection on aarch64, from the features that Linux reports
//! (Documentation/arch/arm64/elf_hwcaps.rst). No instruction is executed and nothing is allocated. Elsewhere the CPU has
//! what the program is compiled for.

#![allow(missing_docs, reason = "hidden: only `squall` uses it")]

use core::sync::atomic::{AtomicU64, Ordering};

/// A set of features, as bits of AT_HWCAP and AT_HWCAP2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Features {
    first: u64,
    second: u64,
}

impl Features {
    /// AESE, AESMC (FEAT_AES).
    pub const AES: Features = Features::first(3);
    /// PSTATE.DIT: instructions whose time does not depend on data (FEAT_DIT).
    pub const DIT: Features = Features::first(24);
    /// RNDR (FEAT_RNG).
    pub const RNDR: Features = Features::second(16);

    const fn first(bit: u32) -> Features {
        Features {
            first: 1 << bit,
            second: 0,
        }
    }

    const fn second(bit: u32) -> Features {
        Features {
            first: 0,
            second: 1 << bit,
        }
    }
}

/// Whether the CPU has all of these features.
#[inline]
pub fn has(features: Features) -> bool {
    /// Auxiliary vector entries (include/uapi/linux/auxvec.h).
    const AT_HWCAP: usize = 16;
    const AT_HWCAP2: usize = 26;
    static FIRST: HwcapCache = HwcapCache(AtomicU64::new(0));
    static SECOND: HwcapCache = HwcapCache(AtomicU64::new(0));
    FIRST.contains(AT_HWCAP, features.first) && SECOND.contains(AT_HWCAP2, features.second)
}

/// The report, cached.
struct HwcapCache(AtomicU64);

impl HwcapCache {
    /// Set once the report was read. The feature of this bit cannot be asked for.
    const KNOWN: u64 = 1 << 63;

    #[inline]
    fn contains(&self, kind: usize, features: u64) -> bool {
        let mut found = self.0.load(Ordering::Relaxed);
        if found == 0 {
            found = report(kind) | Self::KNOWN;
            self.0.store(found, Ordering::Relaxed);
        }
        found & features == features
    }
}

#[cfg(all(target_os = "linux", not(miri)))]
fn report(kind: usize) -> u64 {
    unsafe extern "C" {
        fn getauxval(kind: usize) -> usize;
    }
    // SAFETY: the C library's function of this type, without preconditions: it reads what the kernel put beside the
    // environment.
    unsafe { getauxval(kind) as u64 }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
fn report(_: usize) -> u64 {
    if cfg!(all(target_feature = "aes", not(miri))) {
        Features::AES.first
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_standard_library() {
        macro_rules! agree {
            ($($feature:ident $name:tt),*) => {$(
                assert_eq!(
                    has(Features::$feature),
                    std::arch::is_aarch64_feature_detected!($name),
                    $name
                );
            )*};
        }
        agree!(AES "aes", DIT "dit", RNDR "rand");
    }
}
