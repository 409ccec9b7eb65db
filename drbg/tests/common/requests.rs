//! The requests that a generator and the slow one answer alike. The tests and the fuzz targets share this file.

use squall_drbg::{Cipher, CtrDrbg, CtrDrbgDf, Error, MAX_REQUEST};

use super::ctr::Reference;
use super::drbg::{SlowCtrDrbg, SlowCtrDrbgDf};

/// What a buffer holds before a request, and after one that was refused.
pub const UNTOUCHED: u8 = 0x5a;

/// What `generate` writes into `len` bytes, none of which it touches if it refuses.
pub fn generated(
    len: usize,
    generate: impl FnOnce(&mut [u8]) -> Result<(), Error>,
) -> Result<Vec<u8>, Error> {
    let mut out = vec![UNTOUCHED; len];
    let result = generate(&mut out);
    if result.is_err() {
        assert!(
            out.iter().all(|&byte| byte == UNTOUCHED),
            "written on error"
        );
    }
    result.map(|()| out)
}

/// A generator, or the slow one that checks it.
pub trait Drbg: Sized {
    /// Reseeds.
    fn reseed(&mut self, entropy: &[u8], additional: &[u8]) -> Result<(), Error>;

    /// `len` bytes.
    fn generate(&mut self, len: usize, additional: &[u8]) -> Result<Vec<u8>, Error>;

    /// `len` bytes with prediction resistance. The slow generators take this: SP 800-90A section 9.3.1, steps 7 and 8,
    /// behind the check of the length.
    fn generate_resistant(
        &mut self,
        len: usize,
        entropy: &[u8],
        additional: &[u8],
    ) -> Result<Vec<u8>, Error> {
        if len > MAX_REQUEST {
            return Err(Error::RequestTooLong { given: len });
        }
        self.reseed(entropy, additional)?;
        self.generate(len, b"")
    }
}

macro_rules! drbg {
    ($fast:ident, $slow:ident) => {
        impl<C: Cipher> Drbg for $fast<C> {
            fn reseed(&mut self, entropy: &[u8], additional: &[u8]) -> Result<(), Error> {
                $fast::reseed(self, entropy, additional)
            }

            fn generate(&mut self, len: usize, additional: &[u8]) -> Result<Vec<u8>, Error> {
                generated(len, |out| $fast::generate(self, out, additional))
            }

            fn generate_resistant(
                &mut self,
                len: usize,
                entropy: &[u8],
                additional: &[u8],
            ) -> Result<Vec<u8>, Error> {
                generated(len, |out| {
                    self.generate_with_prediction_resistance(out, entropy, additional)
                })
            }
        }

        impl<C: Reference> Drbg for $slow<C> {
            fn reseed(&mut self, entropy: &[u8], additional: &[u8]) -> Result<(), Error> {
                $slow::reseed(self, entropy, additional)
            }

            fn generate(&mut self, len: usize, additional: &[u8]) -> Result<Vec<u8>, Error> {
                $slow::generate(self, len, additional)
            }
        }
    };
}
drbg!(CtrDrbg, SlowCtrDrbg);
drbg!(CtrDrbgDf, SlowCtrDrbgDf);
