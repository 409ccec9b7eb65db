//! The references for `CtrDrbgDf` and `FastKeyErasure`; that for `CtrDrbg` is the crate `squall-reference`.
//!
//! The derivation function follows the numbered steps of SP 800-90A Rev. 1 section 10.3; fast key erasure is
//! one long run of the `chacha20` crate. Both return the errors that the library documents. The
//! tests and the fuzz targets share this file; it must never call the code under test.

use chacha20::ChaCha20;
use chacha20::cipher::{KeyIvInit, StreamCipher};
use squall_drbg::Error;
use squall_reference::{Aes, CtrDrbg};

use super::requests::Drbg;

const MAX_REQUEST: usize = 65536;

/// CTR_DRBG with derivation function.
pub struct SlowCtrDrbgDf {
    pub core: CtrDrbg,
    /// [`df_string`], or one with a mistake.
    pub string: fn(&[&[u8]], usize) -> Vec<u8>,
}

impl SlowCtrDrbgDf {
    /// Section 10.2.1.3.2.
    pub fn instantiate(
        key_len: usize,
        entropy: &[u8],
        nonce: &[u8],
        personalization: &[u8],
    ) -> Result<Self, Error> {
        let mut drbg = SlowCtrDrbgDf {
            core: CtrDrbg::unseeded(key_len),
            string: df_string,
        };
        drbg.seed(&[entropy, nonce, personalization])?;
        Ok(drbg)
    }

    /// Updates the state with what is derived from `inputs`, of which the first is entropy input.
    fn seed(&mut self, inputs: &[&[u8]]) -> Result<(), Error> {
        let (required, given) = (self.core.key.len(), inputs[0].len());
        if given < required {
            return Err(Error::EntropyTooShort { required, given });
        }
        self.core.update(&self.derive(inputs));
        Ok(())
    }

    /// Block_Cipher_df: section 10.3.2 steps 6 to 15.
    fn derive(&self, inputs: &[&[u8]]) -> Vec<u8> {
        let key_len = self.core.key.len();
        let seed_len = key_len + 16;
        let string = (self.string)(inputs, seed_len);
        let key: Vec<u8> = (0..key_len as u8).collect();
        let cipher = Aes::new(&key);
        let mut temp = Vec::new();
        for i in 0u32.. {
            if temp.len() >= seed_len {
                break;
            }
            let mut iv = i.to_be_bytes().to_vec();
            iv.resize(16, 0);
            temp.extend(bcc(&cipher, &[iv, string.clone()].concat()));
        }
        let (key, x) = temp.split_at(key_len);
        let (cipher, mut x) = (Aes::new(key), block(&x[..16]));
        let mut derived = Vec::new();
        while derived.len() < seed_len {
            x = cipher.encrypt(x);
            derived.extend(x);
        }
        derived.truncate(seed_len);
        derived
    }
}

impl Drbg for SlowCtrDrbgDf {
    /// Section 10.2.1.4.2.
    fn reseed(&mut self, entropy: &[u8], additional: &[u8]) -> Result<(), Error> {
        self.seed(&[entropy, additional])
    }

    /// Section 10.2.1.5.2.
    fn generate(&mut self, len: usize, additional: &[u8]) -> Result<Vec<u8>, Error> {
        if additional.is_empty() {
            return Drbg::generate(&mut self.core, len, b"");
        }
        let derived = self.derive(&[additional]);
        Drbg::generate(&mut self.core, len, &derived)
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
fn bcc(cipher: &Aes, data: &[u8]) -> [u8; 16] {
    data.chunks(16).fold([0; 16], |chaining_value, data| {
        cipher.encrypt(block(&xor(&chaining_value, data)))
    })
}

fn block(bytes: &[u8]) -> [u8; 16] {
    bytes.try_into().expect("a block")
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
