//! CPU feature detection on aarch64, from the features that the kernel reports
//! (Documentation/arch/arm64/elf_hwcaps.rst). No instruction is executed and nothing is allocated.

use core::sync::atomic::{AtomicU64, Ordering};

/// A set of features, as bits of AT_HWCAP and AT_HWCAP2.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Features {
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
pub(crate) fn has(features: Features) -> bool {
    static FIRST: HwcapCache = HwcapCache(AtomicU64::new(0));
    static SECOND: HwcapCache = HwcapCache(AtomicU64::new(0));
    FIRST.contains(libc::AT_HWCAP, features.first)
        && SECOND.contains(libc::AT_HWCAP2, features.second)
}

/// The kernel's report, cached.
struct HwcapCache(AtomicU64);

impl HwcapCache {
    /// Set once the kernel was asked. The feature of this bit cannot be asked for.
    const KNOWN: u64 = 1 << 63;

    #[inline]
    fn contains(&self, kind: libc::c_ulong, features: u64) -> bool {
        let mut found = self.0.load(Ordering::Relaxed);
        if found == 0 {
            // SAFETY: getauxval has no preconditions; it reads what the kernel put beside the environment.
            found = unsafe { libc::getauxval(kind) } | Self::KNOWN;
            self.0.store(found, Ordering::Relaxed);
        }
        found & features == features
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
