//! How blocks of keystream are computed on this CPU.
//!
//! An [`Engine`] (`choice.rs`) is one way to compute a keystream; [`Keystream`] is a key expanded
//! for one engine. Every AES engine writes the same bytes for the same key and counter, at any
//! length and alignment. The layer makes no use of the operating system, and its only state is the
//! expanded key, which is wiped on drop.
//!
//! Kernels in `x86_64/` and `aarch64/` never see a carry out of the low 64 bits of the counter: [`without_carry`]
//! splits a request there, so that the full 128-bit carry is handled in one place.

#[cfg(target_arch = "aarch64")]
mod aarch64;
pub(crate) mod chacha20;
mod choice;
mod portable;
pub mod registers;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "aarch64")]
use aarch64 as cpu;
use core::fmt;

use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::Error;
use crate::secret::without_traces;
pub(crate) use choice::write_names;
pub use choice::{Engine, UnknownEngine};
#[cfg(target_arch = "x86_64")]
use x86_64 as cpu;

/// Length of an AES block, in bytes (FIPS 197).
pub const BLOCK: usize = 16;

mod sealed {
    pub trait Sealed {}
}

/// A byte array that holds a key or a seed.
pub trait Bytes:
    AsRef<[u8]> + AsMut<[u8]> + Copy + Default + Zeroize + Send + Sync + Unpin + 'static
{
}
impl Bytes for [u8; 16] {}
impl Bytes for [u8; 32] {}

/// An AES variant: [`Aes128`] or [`Aes256`].
pub trait Cipher: sealed::Sealed + Sized {
    /// A key: 16 or 32 bytes.
    type Key: Bytes;
    /// Length of a key, in bytes.
    const KEY_LEN: usize;
    /// Length of a key and a block, in bytes: `seedlen` of SP 800-90A table 3.
    const SEED_LEN: usize = Self::KEY_LEN + BLOCK;
    /// Rounds of the cipher (FIPS 197 table 3).
    #[doc(hidden)]
    const ROUNDS: usize;
    #[doc(hidden)]
    type Portable: portable::BlockCipher<Self::Key> + Send + Sync + Unpin + 'static;
    #[doc(hidden)]
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    fn expand(key: &Self::Key, keys: &mut cpu::RoundKeys);
}

/// AES with a 128-bit key (FIPS 197).
#[derive(Clone, Copy, Debug)]
pub enum Aes128 {}

/// AES with a 256-bit key (FIPS 197).
#[derive(Clone, Copy, Debug)]
pub enum Aes256 {}

impl sealed::Sealed for Aes128 {}
impl sealed::Sealed for Aes256 {}

impl Cipher for Aes128 {
    type Key = [u8; 16];
    const KEY_LEN: usize = 16;
    const ROUNDS: usize = 10;
    type Portable = aes::Aes128Enc;
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    fn expand(key: &[u8; 16], keys: &mut cpu::RoundKeys) {
        cpu::schedule::expand_128(key, keys)
    }
}

impl Cipher for Aes256 {
    type Key = [u8; 32];
    const KEY_LEN: usize = 32;
    const ROUNDS: usize = 14;
    type Portable = aes::Aes256Enc;
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    fn expand(key: &[u8; 32], keys: &mut cpu::RoundKeys) {
        cpu::schedule::expand_256(key, keys)
    }
}

/// How output reaches memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stores {
    /// Through the cache: right where the bytes are read soon.
    Cached,
    /// Bypassing the cache (non-temporal), if the engine and the buffer's alignment allow it: right
    /// for buffers larger than the cache. Only the engines for x86-64 can.
    Streaming,
}

impl Stores {
    /// Buffers of at least this many bytes are written past the cache. Measured on an EPYC 9004 with
    /// 32 MiB of L3: streaming stores win from about half the L3 on.
    pub const STREAMING_FROM: usize = 16 << 20;

    /// The stores for a request of `len` bytes.
    pub fn for_len(len: usize) -> Stores {
        if len >= Self::STREAMING_FROM {
            Stores::Streaming
        } else {
            Stores::Cached
        }
    }
}

/// The keystream of AES in counter mode under one key, on one engine.
///
/// Block `i` is `AES(key, i)` with `i` a 128-bit big-endian counter that wraps at 2^128.
///
/// # Security
/// A building block: nothing prevents a caller from using the same blocks twice. The expanded key is wiped on drop, but
/// moving the value leaves a copy behind: [`unkeyed`](Self::unkeyed) is for a value that is put in its place first. On
/// x86-64 and aarch64 every function clears the vector registers before it returns.
///
/// # Forks and clones
/// A copy of the value makes the same keystream.
///
/// # Source
/// FIPS 197; NIST SP 800-38A section 6.5.
pub struct Keystream<C: Cipher> {
    key: ExpandedKey<C>,
}

impl<C: Cipher> Keystream<C> {
    /// Expands `key` for `engine`.
    ///
    /// # Errors
    /// [`Error::EngineUnavailable`] if this CPU cannot run the engine or it is not AES.
    pub fn new(key: &C::Key, engine: Engine) -> Result<Self, Error> {
        without_traces(|| {
            let mut expanded = ExpandedKey::for_engine(engine)?;
            expanded.set(key);
            Ok(Keystream { key: expanded })
        })
    }

    /// A value with a key of zeros, to be moved to its place before it gets its own by [`set_key`](Self::set_key).
    ///
    /// # Errors
    /// [`Error::EngineUnavailable`] if this CPU cannot run the engine or it is not AES.
    pub fn unkeyed(engine: Engine) -> Result<Self, Error> {
        let mut key = ExpandedKey::for_engine(engine)?;
        key.set(&C::Key::default());
        Ok(Keystream { key })
    }

    /// Expands `key` in place, over the earlier one.
    pub fn set_key(&mut self, key: &C::Key) {
        let _clear = registers::clear_on_return();
        self.key.set(key);
    }

    /// Writes the keystream that starts at block `counter` into `out`; the last block may be partial.
    pub fn fill(&self, counter: u128, out: &mut [u8], stores: Stores) {
        let _clear = registers::clear_on_return();
        self.key.keystream(counter, out, stores);
    }
}

impl<C: Cipher> ZeroizeOnDrop for Keystream<C> {}

impl<C: Cipher> fmt::Debug for Keystream<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keystream { .. }")
    }
}

/// A key expanded for one engine, wiped on drop. All AES keystream is made with it;
/// callers clear the registers.
///
/// It is created empty and the key is set in place, because a move leaves a copy behind.
#[allow(
    clippy::large_enum_variant,
    reason = "portable keys are large; a box would need an allocator, which signal handlers lack"
)]
#[allow(missing_debug_implementations, reason = "keys are never printed")]
pub enum ExpandedKey<C: Cipher> {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    /// For a loop of AES instructions.
    Instructions(cpu::Expanded),
    /// For the crate `aes`; `None` before there is a key.
    Portable(Option<C::Portable>),
}

impl<C: Cipher> ExpandedKey<C> {
    /// A value without a key for `engine`.
    ///
    /// # Errors
    /// [`Error::EngineUnavailable`] if this CPU cannot run the engine or it is not AES.
    pub fn for_engine(engine: Engine) -> Result<Self, Error> {
        if !engine.is_aes() || !engine.is_available() {
            return Err(Error::EngineUnavailable(engine));
        }
        Ok(Self::empty(engine))
    }

    /// A value without a key for `engine`, which must be available; [`set`](Self::set) expands the key.
    #[inline]
    pub fn empty(engine: Engine) -> Self {
        match engine {
            Engine::Portable => ExpandedKey::Portable(None),
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
            engine => ExpandedKey::Instructions(cpu::Expanded::empty(engine)),
            #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
            engine => unreachable!("this CPU has no engine {engine}"),
        }
    }

    /// Expands `key` in place.
    #[inline]
    pub fn set(&mut self, key: &C::Key) {
        match self {
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
            ExpandedKey::Instructions(expanded) => C::expand(key, &mut expanded.keys),
            ExpandedKey::Portable(cipher) => portable::set_key(cipher, key),
        }
    }

    /// See [`Keystream::fill`].
    #[inline]
    #[cfg_attr(
        not(any(target_arch = "x86_64", target_arch = "aarch64")),
        allow(
            unused_variables,
            reason = "the portable engine has one kind of stores"
        )
    )]
    pub fn keystream(&self, counter: u128, out: &mut [u8], stores: Stores) {
        match self {
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
            ExpandedKey::Instructions(expanded) => {
                without_carry(counter, out, |counter, part| {
                    expanded.keystream(C::ROUNDS, counter, part, stores);
                });
            }
            ExpandedKey::Portable(cipher) => {
                let cipher = cipher.as_ref().expect("the key was set");
                portable::keystream(cipher, counter, out);
            }
        }
    }
}

impl<C: Cipher> Drop for ExpandedKey<C> {
    fn drop(&mut self) {
        match self {
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
            ExpandedKey::Instructions(expanded) => expanded.keys.zeroize(),
            // The `aes` crate wipes its own keys; otherwise the trait bound below would not compile.
            ExpandedKey::Portable(cipher) => assert_wipes_itself(cipher),
        }
    }
}

impl<C: Cipher> ZeroizeOnDrop for ExpandedKey<C> {}

fn assert_wipes_itself<T: ZeroizeOnDrop>(_: &Option<T>) {}

/// Length of AES-256's round keys, in bytes.
pub const CACHED_SCHEDULE_LEN: usize = 15 * BLOCK;

/// Whether this CPU can use a key schedule kept as plain bytes.
pub fn can_cache_schedules() -> bool {
    Engine::AesNi.is_available() || Engine::ArmAes.is_available()
}

/// Expands an AES-256 key into a schedule to keep. Requires [`can_cache_schedules`].
pub fn cache_schedule(key: &[u8; 32], schedule: &mut [u8; CACHED_SCHEDULE_LEN]) {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    return cpu::cached_schedule::expand(key, schedule);
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    unreachable!("no engine keeps schedules: {key:p} {schedule:p}");
}

/// XORs the AES-256 keystream that starts at block `counter` into `out`, using
/// [cached](cache_schedule) round keys.
#[inline]
pub fn xor_keystream(schedule: &[u8; CACHED_SCHEDULE_LEN], counter: u128, out: &mut [u8]) {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    return cpu::cached_schedule::xor_keystream(schedule, counter, out);
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    unreachable!("no engine keeps schedules: {schedule:p} {counter} {out:p}");
}

/// Calls `each` with parts of `out` within which the low 64 bits of the block counter do not
/// overflow.
///
/// The only jump that depends on a secret, V of CTR_DRBG: a request of at most 2^12 blocks goes the rare way with a
/// probability of 2^-52, and tells no more of V than that.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[inline]
fn without_carry(counter: u128, out: &mut [u8], mut each: impl FnMut(u128, &mut [u8])) {
    let blocks_before_carry = (1u128 << 64) - u128::from(counter as u64);
    let bytes_before_carry = blocks_before_carry * BLOCK as u128;
    if out.len() as u128 <= bytes_before_carry {
        return each(counter, out);
    }
    // A slice is shorter than 2^63 bytes, so it crosses at most one carry.
    let (before, after) = out.split_at_mut(bytes_before_carry as usize);
    each(counter, before);
    each(counter.wrapping_add(blocks_before_carry), after);
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::mem::MaybeUninit;

    #[test]
    fn a_keystream_without_a_key_has_one_of_zeros() {
        for engine in Engine::available().filter(|engine| engine.is_aes()) {
            let unkeyed = Keystream::<Aes256>::unkeyed(engine).unwrap();
            let keyed = Keystream::<Aes256>::new(&[0; 32], engine).unwrap();
            let of = |keystream: Keystream<Aes256>| {
                let mut out = [0; 40];
                keystream.fill(7, &mut out, Stores::Cached);
                out
            };
            assert_eq!(of(unkeyed), of(keyed), "{engine}");
        }
    }

    #[test]
    fn dropping_an_expanded_key_wipes_it() {
        for engine in Engine::available().filter(|engine| engine.is_aes()) {
            let mut place = Box::new(MaybeUninit::new(ExpandedKey::<Aes256>::empty(engine)));
            let key = place.as_mut_ptr();
            // SAFETY: the place was just filled; it is dropped once, and its memory read while the
            // box still has it. Either kind has at least fifteen round keys, without padding.
            let (before, after) = unsafe {
                (*key).set(&[0xa5; 32]);
                let round_keys: *const u8 = match &*key {
                    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
                    ExpandedKey::Instructions(expanded) => (&raw const expanded.keys).cast(),
                    ExpandedKey::Portable(Some(cipher)) => (&raw const *cipher).cast(),
                    ExpandedKey::Portable(None) => unreachable!("the key was set"),
                };
                // By the pointer that the box gave: one made from a reference may not be used after the drop.
                let round_keys = key
                    .byte_offset(round_keys.byte_offset_from(key))
                    .cast::<[u8; CACHED_SCHEDULE_LEN]>();
                let before = round_keys.read();
                key.drop_in_place();
                (before, round_keys.read())
            };
            assert!(before.iter().any(|&byte| byte != 0), "{engine}");
            assert!(after.iter().all(|&byte| byte == 0), "{engine}");
        }
    }

    #[test]
    fn long_requests_are_written_past_the_cache() {
        assert_eq!(Stores::for_len(Stores::STREAMING_FROM), Stores::Streaming);
        assert_eq!(Stores::for_len(Stores::STREAMING_FROM - 1), Stores::Cached);
    }

    #[test]
    fn a_cached_schedule_makes_the_same_keystream() {
        if !can_cache_schedules() {
            return assert_eq!(Engine::best_aes(), Engine::Portable);
        }
        let key = core::array::from_fn(|i| i as u8);
        let mut schedule = [0; CACHED_SCHEDULE_LEN];
        cache_schedule(&key, &mut schedule);
        let reference = Keystream::<Aes256>::new(&key, Engine::Portable).unwrap();
        for counter in [0, 7, u128::from(u64::MAX) - 1, u128::MAX - 2] {
            for len in 0..=100 {
                let mut out = [0x5a; 100];
                let mut expected = [0; 100];
                reference.fill(counter, &mut expected[..len], Stores::Cached);
                expected[..len].iter_mut().for_each(|byte| *byte ^= 0x5a);
                expected[len..].fill(0x5a);
                xor_keystream(&schedule, counter, &mut out[..len]);
                assert_eq!(out, expected, "{len} bytes from block {counter}");
            }
        }
    }
}
