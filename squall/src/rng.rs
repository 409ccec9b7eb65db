//! `Rng`: the generator as the `rand_core` traits want it.

use crate::thread_generator::request_pad::numbers_may_repeat;

/// A handle to this thread's generator, of no size: every `Rng` is the same generator as
/// [`fill`](crate::fill).
///
/// Infallible: where there is no source of randomness at all, the program is aborted as by
/// [`fill`](crate::fill). Implements the traits of `rand_core` 0.10 and, with the feature
/// `rand_core_09`, those of 0.9.
///
/// # Security
/// A cryptographic generator; marked as one.
///
/// # Forks and clones
/// Protected, as [`fill`](crate::fill), in all its methods: `rand` makes keys of numbers. Where
/// notification of a clone is delayed (see SECURITY.md), its `next_u32` and `next_u64` therefore take longer
/// than [`u32`](crate::u32) and [`u64`](crate::u64).
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
