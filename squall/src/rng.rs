//! `Rng`: the generator behind the `rand_core` traits.

use crate::thread_generator::request_pad::numbers_may_repeat;

/// A zero-sized handle to this thread's generator: every `Rng` is the same generator as
/// [`fill`](crate::fill).
///
/// Infallible: without any source of randomness the program is aborted, as by
/// [`fill`](crate::fill). Implements the traits of `rand_core` 0.10 and, with the feature
/// `rand_core_09`, those of 0.9.
///
/// # Security
/// A cryptographic generator, and marked as one.
///
/// # Forks and clones
/// Protected like [`fill`](crate::fill) in all its methods, because `rand` makes keys of numbers.
/// Where notification of a clone is delayed (see SECURITY.md), `next_u32` and `next_u64` therefore
/// take longer than [`u32`](crate::u32) and [`u64`](crate::u64).
///
/// ```
/// use rand_core::Rng as _;
/// let mut rng = squall::Rng;
/// let die = rng.next_u32() % 6 + 1;
/// # assert!((1..=6).contains(&die));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Rng;

impl rand_core::TryRng for Rng {
    type Error = rand_core::Infallible;

    #[inline]
    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        Ok(next_u32())
    }

    #[inline]
    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        Ok(next_u64())
    }

    #[inline]
    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Self::Error> {
        crate::fill(out);
        Ok(())
    }
}

impl rand_core::TryCryptoRng for Rng {}

#[cfg(feature = "rand_core_09")]
impl rand_core_09::RngCore for Rng {
    #[inline]
    fn next_u32(&mut self) -> u32 {
        next_u32()
    }

    #[inline]
    fn next_u64(&mut self) -> u64 {
        next_u64()
    }

    #[inline]
    fn fill_bytes(&mut self, out: &mut [u8]) {
        crate::fill(out);
    }
}

#[cfg(feature = "rand_core_09")]
impl rand_core_09::CryptoRng for Rng {}

#[inline]
fn next_u32() -> u32 {
    if numbers_may_repeat() {
        u32::from_ne_bytes(crate::array())
    } else {
        crate::u32()
    }
}

#[inline]
fn next_u64() -> u64 {
    if numbers_may_repeat() {
        u64::from_ne_bytes(crate::array())
    } else {
        crate::u64()
    }
}
