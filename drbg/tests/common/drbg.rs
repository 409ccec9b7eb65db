//! The deterministic generators, slowly: the references for `CtrDrbg` and `FastKeyErasure`.
//!
//! CTR_DRBG follows the numbered steps of SP 800-90A Rev. 1 sections 10.2.1 and 10.3; fast key erasure is
//! one long run of the `chacha20` crate. Both return the errors that the library documents. The
//! tests and the fuzz targets share this file; it must never call the code under test.

use chacha20::ChaCha20;
use chacha20::cipher::{KeyIvInit, StreamCipher};
use squall_drbg::Error;

use super::ctr::{Reference, encrypt, keystream};

const MAX_REQUEST: usize = 65536;

/// CTR_DRBG without derivation function.
#[derive(Clone)]
pub struct SlowCtrDrbg<C: Reference> {
    pub key: C::Key,
    pub v: u128,
}

impl<C: Reference> SlowCtrDrbg<C> {
    /// Section 10.2.1.3.1.
    pub fn instantiate(entropy: &[u8], personalization: &[u8]) -> Result<Self, Error> {
        let mut drbg = SlowCtrDrbg {
            key: C::Key::default(),
            v: 0,
        };
        drbg.reseed(entropy, personalization)?;
        Ok(drbg)
    }

    /// Section 10.2.1.4.1.
    pub fn reseed(&mut self, entropy: &[u8], additional: &[u8]) -> Result<(), Error> {
        if entropy.len() != C::SEED_LEN {
            return Err(Error::EntropyLength {
                required: C::SEED_LEN,
                given: entropy.len(),
            });
        }
        let additional = padded(additional, C::SEED_LEN)?;
        self.update(&xor(entropy, &additional));
        Ok(())
    }

    /// Section 10.2.1.5.1.
    pub fn generate(&mut self, len: usize, additional: &[u8]) -> Result<Vec<u8>, Error> {
        if len > MAX_REQUEST {
            return Err(Error::RequestTooLong { given: len });
        }
        let input = padded(additional, C::SEED_LEN)?;
        if !additional.is_empty() {
            self.update(&input);
        }
        let output = self.blocks(len);
        self.update(&input);
        Ok(output)
    }

    /// Section 10.2.1.2.
    pub fn update(&mut self, provided_data: &[u8]) {
        let temp = xor(&self.blocks(C::SEED_LEN), provided_data);
        self.key.as_mut().copy_from_slice(&temp[..C::KEY_LEN]);
        self.v = u128::from_be_bytes(temp[C::KEY_LEN..].try_into().expect("V is a block"));
    }

    /// Output blocks: V is incremented before each block, the last block is cut.
    fn blocks(&mut self, len: usize) -> Vec<u8> {
        let first = self.v.wrapping_add(1);
        self.v = self.v.wrapping_add(len.div_ceil(16) as u128);
        keystream::<C>(&self.key, first, len)
    }
}

/// CTR_DRBG with derivation function.
pub struct SlowCtrDrbgDf<C: Reference> {
    pub core: SlowCtrDrbg<C>,
    /// [`df_string`], or one with a mistake.
    pub string: fn(&[&[u8]], usize) -> Vec<u8>,
}

impl<C: Reference> SlowCtrDrbgDf<C> {
    /// Section 10.2.1.3.2.
    pub fn instantiate(
        entropy: &[u8],
        nonce: &[u8],
        personalization: &[u8],
    ) -> Result<Self, Error> {
        let key = C::Key::default();
        let mut drbg = SlowCtrDrbgDf {
            core: SlowCtrDrbg { key, v: 0 },
            string: df_string,
        };
        drbg.seed(&[entropy, nonce, personalization])?;
        Ok(drbg)
    }

    /// Section 10.2.1.4.2.
    pub fn reseed(&mut self, entropy: &[u8], additional: &[u8]) -> Result<(), Error> {
        self.seed(&[entropy, additional])
    }

    /// Section 10.2.1.5.2.
    pub fn generate(&mut self, len: usize, additional: &[u8]) -> Result<Vec<u8>, Error> {
        if additional.is_empty() {
            return self.core.generate(len, b"");
        }
        self.core.generate(len, &self.derive(&[additional]))
    }

    /// Updates the state with what is derived from `inputs`, of which the first is entropy input.
    fn seed(&mut self, inputs: &[&[u8]]) -> Result<(), Error> {
        let (required, given) = (C::KEY_LEN, inputs[0].len());
        if given < required {
            return Err(Error::EntropyTooShort { required, given });
        }
        self.core.update(&self.derive(inputs));
        Ok(())
    }

    /// Block_Cipher_df: section 10.3.2 steps 6 to 15.
    fn derive(&self, inputs: &[&[u8]]) -> Vec<u8> {
        let string = (self.string)(inputs, C::SEED_LEN);
        let mut key = C::Key::default();
        key.as_mut()
            .copy_from_slice(&(0..C::KEY_LEN as u8).collect::<Vec<_>>());
        let mut temp = Vec::new();
        for i in 0u32.. {
            if temp.len() >= C::SEED_LEN {
                break;
            }
            let mut iv = i.to_be_bytes().to_vec();
            iv.resize(16, 0);
            temp.extend(bcc::<C>(&key, &[iv, string.clone()].concat()));
        }
        key.as_mut().copy_from_slice(&temp[..C::KEY_LEN]);
        let mut x = temp[C::KEY_LEN..C::SEED_LEN].to_vec();
        let mut derived = Vec::new();
        while derived.len() < C::SEED_LEN {
            x = encrypt::<C>(&key, [block(&x)]);
            derived.extend(&x);
        }
        derived
    }
}

/// S: section 10.3.2 steps 2 to 5, for a derivation of `number` bytes.
pub fn df_string(inputs: &[&[u8]], number: usize) -> Vec<u8> {
    let input = inputs.concat();
    let mut string = (input.len() as u32).to_be_bytes().to_vec();
    string.extend((number as u32).to_be_bytes());
    string.extend(input);
    string.push(0x80);
    string.resize(string.len().next_multiple_of(16), 0);
    string
}

/// BCC: section 10.3.3.
fn bcc<C: Reference>(key: &C::Key, data: &[u8]) -> Vec<u8> {
    data.chunks(16).fold(vec![0; 16], |chaining_value, data| {
        encrypt::<C>(key, [block(&xor(&chaining_value, data))])
    })
}

fn block(bytes: &[u8]) -> u128 {
    u128::from_be_bytes(bytes.try_into().expect("a block"))
}

/// ChaCha20 with fast key erasure.
pub struct SlowFastKeyErasure {
    key: [u8; 32],
}

impl SlowFastKeyErasure {
    /// Keyed with full entropy.
    pub fn new(key: [u8; 32]) -> Self {
        SlowFastKeyErasure { key }
    }

    /// The next key, with `input` XORed in.
    pub fn reseed(&mut self, input: &[u8; 32]) {
        self.key = xor(&self.take(0), input).try_into().expect("32 bytes");
    }

    /// `len` bytes, after mixing in `additional` if there is any.
    pub fn generate(&mut self, len: usize, additional: &[u8]) -> Result<Vec<u8>, Error> {
        if len > MAX_REQUEST {
            return Err(Error::RequestTooLong { given: len });
        }
        let input = padded(additional, 32)?;
        if !additional.is_empty() {
            self.reseed(&input.try_into().expect("padded to 32 bytes"));
        }
        let output = self.take(len).split_off(32);
        Ok(output)
    }

    /// A key and `len` bytes of keystream; the key is put in place.
    fn take(&mut self, len: usize) -> Vec<u8> {
        let mut keystream = vec![0; 32 + len];
        ChaCha20::new(&self.key.into(), &[0; 12].into()).apply_keystream(&mut keystream);
        self.key.copy_from_slice(&keystream[..32]);
        keystream
    }
}

fn padded(input: &[u8], len: usize) -> Result<Vec<u8>, Error> {
    if input.len() > len {
        return Err(Error::InputTooLong {
            allowed: len,
            given: input.len(),
        });
    }
    let mut padded = input.to_vec();
    padded.resize(len, 0);
    Ok(padded)
}

fn xor(a: &[u8], b: &[u8]) -> Vec<u8> {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| a ^ b).collect()
}
