//! Cryptographic random bytes at the speed of the CPU's AES units, never stale and never
//! repeated.
//!
//! ```
//! let key: [u8; 32] = squall::array();
//! let mut nonce = [0; 12];
//! squall::fill(&mut nonce);
//! let sample = squall::u64();
//! # let _ = (key, sample);
//! ```
//!
//! A request is served from the state of its thread, without a system call and without a lock that
//! threads share. Before the bytes leave, a comparison or two make sure that the state is still unique:
//! not inherited by a fork, not older than the kernel's own RNG state, not restored from a VM snapshot.
//! Served bytes are erased, and keys are replaced as they are used.
//!
//! The generator is CTR_DRBG of NIST SP 800-90A with AES-256; where the CPU has no AES
//! instructions, it is ChaCha20 with fast key erasure. [`status`] reports the protections of this
//! machine, and [SECURITY.md](../../../docs/SECURITY.md), in a checkout, says what they promise and where they end.
//!
//! # Shared libraries and debug builds
//! A shared library (`cdylib`) that has squall in it must never be unloaded, because threads that drew call squall
//! when they end: link it with `-z nodelete`
//! (`println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete")` in `build.rs`), and use the feature
//! `shared-library`.
//!
//! In a debug build squall is unoptimised too: a number takes microseconds, and a process's first draw 13 KiB of
//! stack instead of 6. `opt-level = 2` for the packages `squall` and `squall-drbg` (`[profile.dev.package]`) avoids that.
//! Erasure was tested in optimised builds only.
//!
//! # Which function?
//! | for | use |
//! | --- | --- |
//! | keys, nonces, tokens, identifiers, anything | [`fill`], [`array()`], [`u32()`], [`u64()`] |
//! | an error instead of an abort if there is no source of randomness | [`try_fill`], [`try_fill_fresh`] |
//! | memory that is not initialised | [`fill_uninit`] |
//! | several keys at once, many keys, a vector | [`arrays()`], [`iter()`], [`bytes()`] |
//! | dice, indices, samples, decks of cards | [`below`], [`range`], [`shuffle`] |
//! | numbers whose repetition in a VM clone does no harm: simulations, sampling, jitter | [`SimulationRng`] |
//! | many such numbers in a row, or from a shared library | [`BufferedSimulationRng`] |
//! | keys that live for years, when a microsecond does not matter | [`fill_fresh`] |
//! | code that takes a `rand_core` generator | [`Rng`] |
//! | the same bytes again: wiping and verifying, seeded data | [`Stream`] |
//! | noticing that the virtual machine was cloned, or the process restored | [`clones`] |
//! | collecting entropy of your own | [`entropy`] |
//! | building something of your own | [`hazmat`] |

#![cfg_attr(docsrs, feature(doc_cfg))]
#![deny(missing_debug_implementations, missing_docs)]

mod arrays;
mod backoff;
mod buffered;
pub mod clones;
#[cfg(target_arch = "x86_64")]
mod cpuid;
mod cycle_counter;
pub mod entropy;
mod error;
mod failpoint;
mod file;
mod guard;
mod keystream;
mod per_thread;
mod rng;
mod signal;
mod status;
#[cfg(all(test, target_arch = "x86_64"))]
mod steps;
mod stream;
mod thread_generator;
mod uniform;
mod zeroable;

pub use arrays::{array, arrays, bytes, fill_uninit, iter};
pub use buffered::BufferedSimulationRng;
pub use error::Error;
use error::abort;
pub use rng::{Rng, SimulationRng};
pub use signal::{CloneGuard, Copied, Signal};
pub use squall_drbg::{Engine, UnknownEngine};
pub use status::{ForkGuard, MemoryKind, NoiseSource, ReseedGuard, Status};
pub use stream::Stream;
use thread_generator::RequestKind;
pub use uniform::{Integer, below, range, shuffle};

#[cfg(not(target_os = "linux"))]
compile_error!("squall is for Linux: its promises rest on Linux interfaces");
/// Fills `out` with random bytes.
///
/// ```
/// let mut nonce = [0; 12];
/// squall::fill(&mut nonce);
/// # assert_ne!(nonce, [0; 12]);
/// ```
///
/// The first request of a process waits until the kernel's RNG is ready, soon after boot. If there is
/// no source of randomness at all (a sandbox refuses both getrandom(2) and /dev/urandom), the program is
/// aborted with a message; [`try_fill`] returns an error instead.
///
/// # Security
/// Backtracking resistant: keys are replaced with every refill and served bytes are erased, so
/// state that leaks later does not reveal what was returned. State is reseeded whenever the kernel's
/// RNG is, from the kernel's bytes and from an entropy accumulator; either suffices ([`entropy`]).
/// Safe in signal handlers and in destructors of thread locals.
///
/// # Forks and clones
/// A forked child never repeats its parent. Neither do clones of a VM, nor processes restored from one checkpoint,
/// repeat each other, as far as the machine lets squall notice or prevent it: see [`CloneGuard`] and
/// [SECURITY.md](../../../docs/SECURITY.md).
///
/// A snapshot or a checkpoint made in the middle of a call contains what the call has generated so far. Where
/// nothing shows the clone in time, and after a checkpoint within more than 64 KiB, every copy returns that part of
/// `out`, up to all of it; the rest is different in each.
///
/// # Source
/// NIST SP 800-90A Rev. 1 section 10.2.1 (CTR_DRBG, AES-256, no derivation function). Where a copy may run before
/// anything shows it, requests of up to 256 bytes are its output XORed with the keystream of AES-256 in counter mode
/// under a second key.
#[inline]
pub fn fill(out: &mut [u8]) {
    thread_generator::fill(RequestKind::Unique, out);
}

/// Fills `out` with random bytes, or returns an error.
///
/// # Errors
/// [`Error::NoEntropy`] if there is no source of randomness; `out` must not be used then.
///
/// # Security
/// Same as [`fill`].
///
/// # Forks and clones
/// Same as [`fill`].
#[inline]
pub fn try_fill(out: &mut [u8]) -> Result<(), Error> {
    thread_generator::try_fill(out)
}

/// Fills `out` from a new seed: every call gets new bytes from the kernel's RNG, for each 64 KiB.
///
/// For keys that live long. Costs one or two microseconds where [`fill`] costs nanoseconds.
/// Aborts the program as [`fill`] does.
///
/// # Security
/// The bytes depend on no state of this process: an attacker who has learned all of it cannot
/// predict them, and nothing is kept afterwards. The seed is 48 bytes that a system call gets from
/// the kernel's RNG, hashed with the cycle counter and words of the CPU's random instruction.
///
/// This is not prediction resistance in the sense of SP 800-90A, which requires fresh entropy: the
/// kernel's RNG is itself a deterministic generator, and takes in new entropy about once a minute.
/// Until then, an attacker who knows the *kernel's* state can predict its bytes, and needs to guess
/// only the CPU's words.
///
/// # Forks and clones
/// A call during which a fork or a noticed clone happened starts over.
///
/// # Source
/// NIST SP 800-90A Rev. 1 section 10.2.1, instantiated for each 64 KiB.
pub fn fill_fresh(out: &mut [u8]) {
    if let Err(error) = try_fill_fresh(out) {
        abort(error);
    }
}

/// Fills `out` from a new seed, or returns an error.
///
/// # Errors
/// [`Error::NoEntropy`] if there is no source of randomness; `out` must not be used then.
///
/// # Security
/// Same as [`fill_fresh`].
///
/// # Forks and clones
/// Same as [`fill_fresh`].
pub fn try_fill_fresh(out: &mut [u8]) -> Result<(), Error> {
    // The first draw of a process finds out how clones can be noticed on this machine.
    thread_generator::ensure_first_draw()?;
    thread_generator::fill_fresh(out)
}

/// A random number below 2^32. Same as [`fill`] in everything else.
#[inline]
pub fn u32() -> u32 {
    thread_generator::word(RequestKind::Unique)
}

/// A random number below 2^64. Same as [`fill`] in everything else.
#[inline]
pub fn u64() -> u64 {
    thread_generator::word(RequestKind::Unique)
}

/// The protections of this process and the work of its generator so far.
///
/// Draws two bytes first, because some protections are chosen by the first two draws. Aborts the program
/// where [`fill`] does.
pub fn status() -> Status {
    Status::now().unwrap_or_else(|error| abort(error))
}

/// Building blocks, for those who know what they are doing.
///
/// Nothing in here guards against forks, clones or stale state.
pub mod hazmat {
    pub use crate::keystream::Keystream;
    pub use squall_drbg::{
        Aes128, Aes256, Cipher, CtrDrbg, CtrDrbgDf, Error as DrbgError, FastKeyErasure,
        MAX_REQUEST, Stores,
    };

    use crate::guard::{freshness, policy};
    use crate::{Engine, Error, thread_generator};

    /// Creates the thread key that reports the end of a thread, and the handler of pthread_atfork(3), ahead of the
    /// process's first draw.
    ///
    /// For constructors of shared libraries: a thread's first draw sets this key, and setting a POSIX
    /// thread key allocates if the process created 32 others before it. Registering the handler takes a lock of the C
    /// library.
    pub fn prepare_threads() {
        thread_generator::prepare_threads();
    }

    /// Makes every thread's generator use `engine` from its next refill on.
    ///
    /// For comparing engines; [`fill`](crate::fill) uses the best one by itself.
    ///
    /// # Errors
    /// [`Error::EngineUnavailable`] if this CPU cannot run it.
    pub fn use_engine(engine: Engine) -> Result<(), Error> {
        thread_generator::generator::use_engine(engine)
    }

    /// Stops relying on the machine's signals of clones. Requests are then made different in each clone,
    /// as on a VM without a signal ([`CloneGuard::NoSignal`](crate::CloneGuard::NoSignal)).
    ///
    /// For programs that do not trust these signals, and for measuring the cost. The setting holds for
    /// the whole process and cannot be undone. A thread that has drawn before may first serve the rest of
    /// its buffer (at most 3584 bytes) unchanged.
    pub fn distrust_clone_signals() {
        policy::distrust_clone_signals();
    }

    /// Stops reading the CPU's cycle counter, for a program that is about to switch it off by
    /// `prctl(PR_SET_TSC, PR_TSC_SIGSEGV)`: the next reading would end it by SIGSEGV. A process whose
    /// first draw comes after that needs no call: squall asks the kernel then.
    ///
    /// It holds for the whole process and its later children, and cannot be undone. kvm-clock is a signal of clones only
    /// if squall could read the counter in the process's first ten milliseconds. Where nothing shows clones in time, only
    /// words of the CPU's random instruction then make a request differ in each.
    pub fn avoid_cycle_counter() {
        crate::cycle_counter::avoid();
    }

    /// The generation of the kernel's RNG. It changes with each reseed, about once a minute, and when the
    /// kernel is notified of a VM clone. Reading it is one load.
    ///
    /// For pools of your own. `None` before this process's first draw, and where the generation is not
    /// mapped (`ReseedGuard` of [`status`](crate::status)).
    #[inline]
    pub fn kernel_generation() -> Option<core::num::NonZeroU64> {
        core::num::NonZeroU64::new(freshness::mapped_generation())
    }
}

/// What squall's own bindings and command share with the library. It may change in any version.
#[doc(hidden)]
pub mod internal {
    pub use crate::clones::machine_generation;
    pub use crate::clones::newest_message as newest_clone_message;
    pub use crate::entropy::kernel::request as getrandom;
    pub use crate::file::stat;
    pub use crate::guard::clone_signal::device_paths as clone_device_paths;
    pub use crate::guard::errno::keep as keep_errno;
    pub use crate::guard::fork::count as count_of_forks;
    pub use crate::thread_generator::watch_forks;
    pub use crate::uniform::{below_u32, below_u64};
    pub use squall_drbg::internal::{CACHED_SCHEDULE_LEN, cache_schedule, can_cache_schedules};
}

/// Switches for tests; needs the feature `testing`.
#[cfg(feature = "testing")]
#[doc(hidden)]
pub mod testing {
    pub use crate::clones::replace_kernel_log_for_testing;
    pub use crate::failpoint::{Failpoint, activate as activate_for_testing};
    pub use crate::guard::clock::advance as advance_clock_for_testing;
    pub use crate::guard::clone_signal::replace_device as clone_device_for_testing;
    pub use crate::guard::kvm_clock::{
        Record as KvmClockRecordForTesting, replace_records as kvm_clock_records_for_testing,
    };
    pub use crate::guard::vdso::watch_replacement as watch_generation_at_for_testing;
    pub use crate::thread_generator::testing::KEY_OFFSETS as KEY_OFFSETS_FOR_TESTING;
    pub use crate::thread_generator::testing::events as events_for_testing;
    pub use crate::thread_generator::testing::generations as generations_for_testing;
    pub use crate::thread_generator::testing::page_address as page_address_for_testing;
    pub use crate::thread_generator::testing::reseeds as reseeds_for_testing;
}

/// The README's example is compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
