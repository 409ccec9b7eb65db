//! The requests that a generator and the slow one answer alike. The tests and the fuzz targets share this file.

use squall_drbg::{Cipher, CtrDrbg, CtrDrbgDf, Error, MAX_REQUEST};
use squall_reference::CtrDrbg as SlowCtrDrbg;

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
    ($($drbg:ident),*) => {$(
        impl<C: Cipher> Drbg for $drbg<C> {
            fn reseed(&mut self, entropy: &[u8], additional: &[u8]) -> Result<(), Error> {
                $drbg::reseed(self, entropy, additional)
            }

            fn generate(&mut self, len: usize, additional: &[u8]) -> Result<Vec<u8>, Error> {
                generated(len, |out| $drbg::generate(self, out, additional))
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
    )*};
}
drbg!(CtrDrbg, CtrDrbgDf);

/// It decides what is refused; only the library's name for the reason is added here.
impl Drbg for SlowCtrDrbg {
    fn reseed(&mut self, entropy: &[u8], additional: &[u8]) -> Result<(), Error> {
        let (allowed, given) = (self.key.len() + 16, entropy.len());
        let refused = if given == allowed {
            too_long(allowed, additional)
        } else {
            Error::EntropyLength {
                required: allowed,
                given,
            }
        };
        SlowCtrDrbg::reseed(self, entropy, additional).ok_or(refused)
    }

    fn generate(&mut self, len: usize, additional: &[u8]) -> Result<Vec<u8>, Error> {
        let refused = if len > MAX_REQUEST {
            Error::RequestTooLong { given: len }
        } else {
            too_long(self.key.len() + 16, additional)
        };
        SlowCtrDrbg::generate(self, len, additional).ok_or(refused)
    }
}

fn too_long(allowed: usize, input: &[u8]) -> Error {
    let given = input.len();
    Error::InputTooLong { allowed, given }
}
