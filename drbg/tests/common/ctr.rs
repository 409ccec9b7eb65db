//! AES in counter mode, slowly: the reference for every engine.
//!
//! It encrypts one block after the other with the `aes` crate, each from a `u128` counter. The
//! tests and the fuzz targets share this file; it must never call the code under test.

use aes::cipher::consts::U16;
use aes::cipher::{BlockCipherEncrypt, KeyInit};
use squall_drbg::{Aes128, Aes256, Cipher};

/// A cipher of squall and its counterpart in the `aes` crate.
pub trait Reference: Cipher {
    /// The counterpart.
    type Block: KeyInit + BlockCipherEncrypt<BlockSize = U16>;
}

impl Reference for Aes128 {
    type Block = aes::Aes128Enc;
}

impl Reference for Aes256 {
    type Block = aes::Aes256Enc;
}

/// The encryption of each of `counters` as a big-endian block.
pub fn encrypt<C: Reference>(key: &C::Key, counters: impl IntoIterator<Item = u128>) -> Vec<u8> {
    let cipher = C::Block::new_from_slice(key.as_ref()).expect("the key type has the right length");
    let mut bytes = Vec::new();
    for counter in counters {
        let mut block = counter.to_be_bytes().into();
        cipher.encrypt_block(&mut block);
        bytes.extend_from_slice(&block);
    }
    bytes
}

/// `len` bytes of keystream from block `counter` on.
pub fn keystream<C: Reference>(key: &C::Key, counter: u128, len: usize) -> Vec<u8> {
    let blocks = len.div_ceil(16) as u128;
    let mut bytes = encrypt::<C>(key, (0..blocks).map(|i| counter.wrapping_add(i)));
    bytes.truncate(len);
    bytes
}
