//! Deterministic random bit generators: CTR_DRBG of NIST SP 800-90A by the CPU's AES instructions, and ChaCha20 with
//! fast key erasure.
//!
//! ```
//! use squall_drbg::{Aes256, CtrDrbg};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut entropy = [0; 48];
//! getrandom::fill(&mut entropy)?;
//! let mut drbg = CtrDrbg::<Aes256>::instantiate(&entropy, b"example")?;
//! let mut key = [0; 32];
//! drbg.generate(&mut key, b"")?;
//! # Ok(())
//! # }
//! ```
//!
//! The crate needs no operating system, no allocator and no std. It never looks for entropy, and nothing here notices a
//! fork or a clone of the virtual machine: that is what the crate `squall` adds on Linux.
//!
//! # Which type?
//! | for | use |
//! | --- | --- |
//! | a generator that a standard describes | [`CtrDrbg`] |
//! | the same, with entropy input of any length and quality | [`CtrDrbgDf`] |
//! | a fast generator where [`Engine::best`] is [`Engine::ChaCha20`], on CPUs without AES instructions | [`FastKeyErasure`] |
//! | the same bytes again, from any block on | [`Keystream`] |
//!
//! # Engines
//! [`Engine`] names the ways to compute a keystream. The best that this CPU has is chosen at run time: AES on registers
//! of 128, 256 or 512 bits on x86-64, ARMv8's AES on aarch64, the crate `aes` elsewhere. x86-64 is asked by CPUID; on
//! Linux the kernel is asked first whether the instruction may be used. On aarch64 Linux says what the CPU has; without
//! Linux, AES instructions are used if the program is compiled for them.
//!
//! # Wiping
//! Every type wipes its keys when it is dropped. In optimised builds, on x86-64 and aarch64, every function that handles a key
//! or a seed clears the registers, and the stack where it is known to leave secrets. A value that is moved leaves a copy
//! behind, from which all output until the next reseed can be computed: where that matters, put it in its place and reseed
//! it there.

#![cfg_attr(not(test), no_std)]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![deny(missing_debug_implementations, missing_docs)]

#[cfg(target_arch = "x86_64")]
mod cpuid;
mod ctr_drbg;
mod ctr_drbg_df;
mod engine;
mod error;
mod failpoint;
mod fast_key_erasure;
#[cfg(target_arch = "aarch64")]
mod hwcap;
#[cfg(any(feature = "rand_core", feature = "rand_core_09"))]
mod rng;
mod secret;

pub use ctr_drbg::{CtrDrbg, MAX_REQUEST};
pub use ctr_drbg_df::CtrDrbgDf;
pub use engine::{Aes128, Aes256, Cipher, Engine, Keystream, Stores, UnknownEngine};
pub use error::Error;
pub use fast_key_erasure::FastKeyErasure;
#[cfg(any(feature = "rand_core", feature = "rand_core_09"))]
pub use rng::Seed;

#[cfg(all(
    target_arch = "aarch64",
    any(target_endian = "big", target_env = "ohos")
))]
compile_error!(
    "on aarch64 squall's engines need little-endian memory, and register x18, which OpenHarmony keeps for itself"
);

#[cfg(all(target_arch = "aarch64", not(target_feature = "neon")))]
compile_error!("on aarch64 squall-drbg needs NEON");

/// What the crate `squall` shares with this one. It may change in any version.
#[doc(hidden)]
pub mod internal {
    pub mod registers {
        pub use crate::engine::registers::{ClearOnReturn, clear_on_return};
    }
    pub use crate::engine::{
        BLOCK, CACHED_SCHEDULE_LEN, ExpandedKey, cache_schedule, can_cache_schedules, xor_keystream,
    };
    #[cfg(target_arch = "aarch64")]
    pub mod hwcap {
        pub use crate::hwcap::{Features, has};
    }
    #[cfg(target_arch = "x86_64")]
    pub mod cpuid {
        pub use crate::cpuid::{Features, cpuid, has};
    }
    pub use crate::secret::{
        Secret, State, in_separate_frame, wipe, wipe_stack_below, wiping_stack,
    };
}

/// Switches for tests; needs the feature `testing`.
#[cfg(feature = "testing")]
#[doc(hidden)]
pub mod testing {
    pub use crate::engine::chacha20::Width;
    pub use crate::failpoint::{Failpoint, activate};
}

/// The README's example is compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
