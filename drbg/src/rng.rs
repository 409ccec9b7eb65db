//! The generators behind the traits of `rand_core`.
//!
//! Every call is a request of its own, or several of 2^16 bytes: for a word it costs as much as for a few hundred bytes.
//! For many words, fill a buffer. If a call fails because a reseed is required, a part of its output may be written.

use core::convert::Infallible;
use core::fmt;
use core::marker::PhantomData;

use zeroize::ZeroizeOnDrop;

use crate::ctr_drbg::MAX_SEED_LEN;
use crate::secret::{Secret, wipe, without_traces};
use crate::{
    Aes128, Aes256, Cipher, CtrDrbg, CtrDrbgDf, Engine, Error, FastKeyErasure, MAX_REQUEST,
};

/// Entropy input for a [`CtrDrbg`] behind `rand_core`'s `SeedableRng`: `seedlen` bytes, 32 for AES-128 and 48 for
/// AES-256. Wiped on drop.
pub struct Seed<C: Cipher> {
    bytes: Secret<MAX_SEED_LEN>,
    cipher: PhantomData<C>,
}

impl<C: Cipher> Default for Seed<C> {
    fn default() -> Self {
        Seed {
            bytes: Secret::zeroed(),
            cipher: PhantomData,
        }
    }
}

impl From<[u8; 32]> for Seed<Aes128> {
    fn from(bytes: [u8; 32]) -> Self {
        Self::of(bytes)
    }
}

impl From<[u8; 48]> for Seed<Aes256> {
    fn from(bytes: [u8; 48]) -> Self {
        Self::of(bytes)
    }
}

impl<C: Cipher> Seed<C> {
    fn of<const N: usize>(mut bytes: [u8; N]) -> Self {
        without_traces(|| {
            let mut seed = Self::default();
            seed.as_mut().copy_from_slice(&bytes);
            wipe(&mut bytes);
            seed
        })
    }
}

impl<C: Cipher> Clone for Seed<C> {
    fn clone(&self) -> Self {
        without_traces(|| {
            let mut seed = Self::default();
            seed.bytes.copy_from_slice(&self.bytes[..]);
            seed
        })
    }
}

impl<C: Cipher> AsRef<[u8]> for Seed<C> {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..C::SEED_LEN]
    }
}

impl<C: Cipher> AsMut<[u8]> for Seed<C> {
    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[..C::SEED_LEN]
    }
}

impl<C: Cipher> ZeroizeOnDrop for Seed<C> {}

impl<C: Cipher> fmt::Debug for Seed<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seed { .. }")
    }
}

/// What the traits are made of: any number of bytes, each 2^16 of them by a request.
trait Fill {
    type Error;

    fn fill(&mut self, out: &mut [u8]) -> Result<(), Self::Error>;

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], Self::Error> {
        let mut bytes = [0; N];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }
}

macro_rules! fill_by_requests {
    ($($generator:ident),*) => {$(
        impl<C: Cipher> Fill for $generator<C> {
            type Error = Error;

            fn fill(&mut self, out: &mut [u8]) -> Result<(), Error> {
                out.chunks_mut(MAX_REQUEST)
                    .try_for_each(|part| self.generate(part, b""))
            }
        }
    )*};
}
fill_by_requests!(CtrDrbg, CtrDrbgDf);

impl Fill for FastKeyErasure {
    type Error = Infallible;

    fn fill(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        for part in out.chunks_mut(MAX_REQUEST) {
            self.generate(part, b"")
                .expect("the part has the length of a request");
        }
        Ok(())
    }
}

fn from_entropy<C: Cipher>(seed: &Seed<C>) -> CtrDrbg<C> {
    without_traces(|| {
        let mut drbg = CtrDrbg::unseeded(Engine::best_aes()).expect("it is available");
        drbg.reseed_with(&seed.bytes);
        drbg
    })
}

macro_rules! seedable {
    ($rand_core:ident) => {
        /// The seed is the entropy input; there is no personalization string.
        impl<C: Cipher> $rand_core::SeedableRng for CtrDrbg<C> {
            type Seed = Seed<C>;

            fn from_seed(seed: Seed<C>) -> Self {
                from_entropy(&seed)
            }
        }

        impl $rand_core::SeedableRng for FastKeyErasure {
            type Seed = [u8; 32];

            fn from_seed(mut seed: [u8; 32]) -> Self {
                without_traces(|| {
                    let generator = FastKeyErasure::from_state(&seed);
                    wipe(&mut seed);
                    generator
                })
            }
        }
    };
}

#[cfg(feature = "rand_core")]
mod version_0_10 {
    use super::*;

    macro_rules! try_rng {
        ([$($generics:tt)*] $generator:ty, $error:ty) => {
            impl<$($generics)*> rand_core::TryRng for $generator {
                type Error = $error;

                fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
                    self.bytes().map(u32::from_le_bytes)
                }

                fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
                    self.bytes().map(u64::from_le_bytes)
                }

                fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Self::Error> {
                    self.fill(out)
                }
            }

            impl<$($generics)*> rand_core::TryCryptoRng for $generator {}
        };
    }
    try_rng!([C: Cipher] CtrDrbg<C>, Error);
    try_rng!([C: Cipher] CtrDrbgDf<C>, Error);
    try_rng!([] FastKeyErasure, Infallible);
    seedable!(rand_core);
}

#[cfg(feature = "rand_core_09")]
mod version_0_9 {
    use super::*;

    macro_rules! try_rng {
        ($($generator:ident),*) => {$(
            impl<C: Cipher> rand_core_09::TryRngCore for $generator<C> {
                type Error = Error;

                fn try_next_u32(&mut self) -> Result<u32, Error> {
                    self.bytes().map(u32::from_le_bytes)
                }

                fn try_next_u64(&mut self) -> Result<u64, Error> {
                    self.bytes().map(u64::from_le_bytes)
                }

                fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Error> {
                    self.fill(out)
                }
            }

            impl<C: Cipher> rand_core_09::TryCryptoRng for $generator<C> {}
        )*};
    }
    try_rng!(CtrDrbg, CtrDrbgDf);

    impl rand_core_09::RngCore for FastKeyErasure {
        fn next_u32(&mut self) -> u32 {
            let Ok(bytes) = self.bytes();
            u32::from_le_bytes(bytes)
        }

        fn next_u64(&mut self) -> u64 {
            let Ok(bytes) = self.bytes();
            u64::from_le_bytes(bytes)
        }

        fn fill_bytes(&mut self, out: &mut [u8]) {
            let Ok(()) = self.fill(out);
        }
    }

    impl rand_core_09::CryptoRng for FastKeyErasure {}
    seedable!(rand_core_09);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_have_seedlen_bytes_and_hide_them() {
        assert_eq!(Seed::<Aes128>::from([7; 32]).clone().as_ref(), [7; 32]);
        assert_eq!(Seed::<Aes256>::from([7; 48]).clone().as_ref(), [7; 48]);
        assert_eq!(format!("{:?}", Seed::<Aes256>::default()), "Seed { .. }");
    }

    #[test]
    fn a_word_fails_with_its_request() {
        struct Failing;
        impl Fill for Failing {
            type Error = Error;

            fn fill(&mut self, _: &mut [u8]) -> Result<(), Error> {
                Err(Error::ReseedRequired)
            }
        }
        assert_eq!(Failing.bytes::<4>(), Err(Error::ReseedRequired));
    }

    /// A word, a longer one and more than a request's bytes, asked of a generator.
    fn expected(mut generate: impl FnMut(&mut [u8])) -> (u32, u64, Vec<u8>) {
        let (mut word, mut longer, mut out) = ([0; 4], [0; 8], vec![0; MAX_REQUEST + 1]);
        generate(&mut word);
        generate(&mut longer);
        out.chunks_mut(MAX_REQUEST).for_each(generate);
        (u32::from_le_bytes(word), u64::from_le_bytes(longer), out)
    }

    /// Words are little-endian, whatever the CPU; a long output is several requests of the generator.
    macro_rules! traits_return_what_requests_return {
        ($name:ident: $rand_core:ident, $($names:tt)*) => {
            #[cfg_attr(miri, ignore = "it takes many minutes")]
            #[test]
            fn $name() {
                use $rand_core::{SeedableRng, $($names)*};

                let mut out = vec![0; MAX_REQUEST + 1];
                let mut drbg = CtrDrbg::<Aes256>::instantiate(&[7; 48], b"").unwrap();
                let (word, longer, long) = expected(|out| drbg.generate(out, b"").unwrap());
                let mut drbg = CtrDrbg::<Aes256>::from_seed([7; 48].into());
                assert_eq!(drbg.try_next_u32(), Ok(word));
                assert_eq!(drbg.try_next_u64(), Ok(longer));
                assert_eq!(drbg.try_fill_bytes(&mut out), Ok(()));
                assert!(out == long);

                let df = || CtrDrbgDf::<Aes256>::instantiate(&[7; 48], b"", b"").unwrap();
                let (word, ..) = expected(|out| df().generate(out, b"").unwrap());
                assert_eq!(df().try_next_u32(), Ok(word));

                let mut generator = FastKeyErasure::new(&[7; 32]);
                let (word, longer, long) = expected(|out| generator.generate(out, b"").unwrap());
                let mut generator = FastKeyErasure::from_seed([7; 32]);
                assert_eq!(generator.next_u32(), word);
                assert_eq!(generator.next_u64(), longer);
                generator.fill_bytes(&mut out);
                assert!(out == long);
            }
        };
    }
    #[cfg(feature = "rand_core")]
    traits_return_what_requests_return!(of_version_0_10: rand_core, Rng, TryRng);
    #[cfg(feature = "rand_core_09")]
    traits_return_what_requests_return!(of_version_0_9: rand_core_09, RngCore, TryRngCore);
}
