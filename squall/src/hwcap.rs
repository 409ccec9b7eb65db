//! CPU feature detection on aarch64: what the kernel says that the CPU has
//! (Documentation/arch/arm64/elf_hwcaps.rst). No instruction is executed and nothing is allocated.

/// A set of features, as bits of AT_HWCAP and AT_HWCAP2.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Features {
    first: libc::c_ulong,
    second: libc::c_ulong,
}

impl Features {
    /// AESE, AESMC (FEAT_AES).
    pub const AES: Features = Features::first(3);
    /// EOR3 (FEAT_SHA3).
    pub const SHA3: Features = Features::first(17);
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
    // SAFETY: getauxval has no preconditions; it reads what the kernel put beside the environment.
    let (first, second) = unsafe {
        (
            libc::getauxval(libc::AT_HWCAP),
            libc::getauxval(libc::AT_HWCAP2),
        )
    };
    first & features.first == features.first && second & features.second == features.second
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
        agree!(AES "aes", SHA3 "sha3", DIT "dit", RNDR "rand");
        assert!(!has(Features::second(63)));
    }
}
