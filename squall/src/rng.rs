//! `Rng` and `SimulationRng`: the generator behind the `rand_core` traits.

use crate::buffered::BufferedSimulationRng;
use crate::guard::page::Word;
use crate::thread_generator::{self, RequestKind};

/// A zero-sized handle to this thread's generator: every `Rng` is the same generator as
/// [`fill`](crate::fill).
///
/// Infallible: without any source of randomness it aborts the program, as
/// [`fill`](crate::fill) does. Implements the traits of `rand_core` 0.10 and, with the feature
/// `rand_core_09`, those of 0.9.
///
/// # Security
/// A cryptographic generator, and marked as one.
///
/// # Forks and clones
/// Same as [`fill`](crate::fill), in all its methods.
///
/// ```
/// use rand_core::Rng as _;
/// let mut rng = squall::Rng;
/// let mut key = [0; 32];
/// rng.fill_bytes(&mut key);
/// # assert_ne!(key, [0; 32]);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Rng;

/// Numbers for simulations, sampling and jitter: a zero-sized handle to this thread's generator that
/// **may repeat in a VM clone**. The fastest generator here.
///
/// Do not use it for keys, nonces, tokens or identifiers; it is not marked as a cryptographic generator
/// (`CryptoRng`). In everything else it is like [`Rng`].
///
/// # Security
/// The numbers are bytes of the same generator, and are erased when they are served. No other request
/// gets them.
///
/// # Forks and clones
/// Forked children get other numbers, and bytes that were generated before a reseed of the kernel's RNG
/// are discarded. Where clones are noticed late or not at all (see [`CloneGuard`](crate::CloneGuard)),
/// two clones may get the same numbers until they are notified, or until their buffers are used up: at
/// most 3584 bytes of a thread at a time.
///
/// ```
/// use rand_core::Rng as _;
/// let mut rng = squall::SimulationRng;
/// let is_heads = rng.next_u32() % 2 == 1;
/// # let _ = is_heads;
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct SimulationRng;

/// What the traits are made of.
trait Words {
    fn word<W: Word>(&mut self) -> W;

    const KIND: RequestKind;
}

impl Words for Rng {
    const KIND: RequestKind = RequestKind::Unique;

    #[inline(always)]
    fn word<W: Word>(&mut self) -> W {
        thread_generator::word(Self::KIND)
    }
}

impl Words for SimulationRng {
    const KIND: RequestKind = RequestKind::Simulation;

    #[inline(always)]
    fn word<W: Word>(&mut self) -> W {
        thread_generator::word(Self::KIND)
    }
}

impl Words for BufferedSimulationRng {
    const KIND: RequestKind = RequestKind::Simulation;

    #[inline(always)]
    fn word<W: Word>(&mut self) -> W {
        BufferedSimulationRng::word(self)
    }
}

macro_rules! generators {
    ($($generator:ty),*) => {$(
        impl rand_core::TryRng for $generator {
            type Error = rand_core::Infallible;

            #[inline]
            fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
                Ok(Words::word(self))
            }

            #[inline]
            fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
                Ok(Words::word(self))
            }

            #[inline]
            fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Self::Error> {
                thread_generator::fill(Self::KIND, out);
                Ok(())
            }
        }

        #[cfg(feature = "rand_core_09")]
        impl rand_core_09::RngCore for $generator {
            #[inline]
            fn next_u32(&mut self) -> u32 {
                Words::word(self)
            }

            #[inline]
            fn next_u64(&mut self) -> u64 {
                Words::word(self)
            }

            #[inline]
            fn fill_bytes(&mut self, out: &mut [u8]) {
                thread_generator::fill(Self::KIND, out);
            }
        }
    )*};
}

generators!(Rng, SimulationRng, BufferedSimulationRng);

impl rand_core::TryCryptoRng for Rng {}

#[cfg(feature = "rand_core_09")]
impl rand_core_09::CryptoRng for Rng {}
