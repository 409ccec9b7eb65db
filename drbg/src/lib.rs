//! Deterministic random bit generators at the speed of the CPU's AES units: CTR_DRBG of NIST SP 800-90A, and ChaCha20
//! with fast key erasure.
//!
//! ```
//! use squall_drbg::{Aes256, CtrDrbg};
//!
//! # fn main() -> Result<(), squall_drbg::Error> {
//! # let entropy_of_this_machine = [7; 48];
//! let mut drbg = CtrDrbg::<Aes256>::instantiate(&entropy_of_this_machine, b"example 1")?;
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
//! | a generator on a CPU without AES instructions | [`FastKeyErasure`] |
//! | the same bytes again, from any block on | [`Keystream`] |
//!
//! # Speed
//! [`Engine`] names the ways to compute a keystream. The best that this CPU has is chosen at run time: AES on registers
//! of 128, 256 or 512 bits on x86-64, ARMv8's AES on aarch64, the crate `aes` elsewhere. On Linux the kernel says what
//! the CPU has; without an operating system, x86-64 is asked by CPUID, and aarch64 uses AES instructions if the
//! program is compiled for them.
//!
//! # Wiping
//! Every type wipes its keys when it is dropped, and every function the registers and the stack that it used for
//! them. A value that is moved leaves a copy behind: put it where it stays before it has a key.

#![cfg_attr(not(test), no_std)]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![deny(missing_debug_implementations, missing_docs)]

#[cfg(target_arch = "x86_64")]
mod cpuid;
mod ctr_drbg;
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
    pub use crate::secret::{Secret, in_separate_frame, wipe, wipe_stack_below, wiping_stack};
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
