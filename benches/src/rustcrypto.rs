//! The keystreams of RustCrypto's `aes` with `ctr`, and of `chacha20`.

use ctr::cipher::{KeyIvInit, StreamCipher};

/// AES-128 in counter mode.
pub type Aes128Ctr = ctr::Ctr128BE<aes::Aes128>;

/// AES-256 in counter mode.
pub type Aes256Ctr = ctr::Ctr128BE<aes::Aes256>;

/// ChaCha20 of RFC 8439.
pub type ChaCha20 = chacha20::ChaCha20;

/// A cipher with a key and a nonce of its own.
pub fn cipher<C: KeyIvInit>() -> C {
    C::new(&Default::default(), &Default::default())
}

/// Writes the next keystream into `out`. Where a cipher's key allows fewer bytes than a benchmark
/// takes (256 GiB for ChaCha20), it starts anew.
#[inline]
pub fn fill<C: KeyIvInit + StreamCipher>(cipher: &mut C, out: &mut [u8]) {
    if cipher.try_write_keystream(out).is_err() {
        *cipher = self::cipher();
    }
}
