//! AES in counter mode by the `aes` crate, on any CPU.
//!
//! The crate's code is constant-time, with ARMv8's AES instructions where the CPU has them. The
//! loops in `x86_64/` are tested against it. It copies round keys to the stack, which is wiped
//! after each use.

use aes::cipher::{Array, BlockCipherEncrypt, KeyInit};
use zeroize::ZeroizeOnDrop;

use super::{BLOCK, Bytes};
use crate::secret::{wipe, wiping_stack};

/// Blocks encrypted in one call to the crate: enough to fill its widest back end.
const BATCH: usize = 64;

/// A cipher of the `aes` crate, keyed.
pub trait BlockCipher<K: Bytes>: ZeroizeOnDrop + Sized {
    /// Expands the key.
    fn new(key: &K) -> Self;
    /// Encrypts every block in place.
    fn encrypt(&self, blocks: &mut [[u8; BLOCK]]);
}

impl<K: Bytes, T: KeyInit + BlockCipherEncrypt + ZeroizeOnDrop> BlockCipher<K> for T
where
    T: aes::cipher::BlockSizeUser<BlockSize = aes::cipher::consts::U16>,
{
    fn new(key: &K) -> Self {
        <T as KeyInit>::new_from_slice(key.as_ref()).expect("the key type has the key's length")
    }

    fn encrypt(&self, blocks: &mut [[u8; BLOCK]]) {
        self.encrypt_blocks(Array::cast_slice_from_core_mut(blocks));
    }
}

/// Bytes of stack on which the crate may leave round keys.
const STACK: usize = if cfg!(debug_assertions) { 12 } else { 6 } << 10;

/// Expands `key` into `place`.
pub(super) fn set_key<K: Bytes, C: BlockCipher<K>>(place: &mut Option<C>, key: &K) {
    wiping_stack::<STACK>(|| *place = Some(C::new(key)));
}

/// Writes the keystream that starts at block `counter` into `out`.
///
/// Not inlined: it takes 3 KiB of stack, which the callers of the other engines, signal handlers
/// among them, should not have to provide.
#[inline(never)]
pub(super) fn keystream<K: Bytes>(cipher: &impl BlockCipher<K>, counter: u128, out: &mut [u8]) {
    wiping_stack::<STACK>(|| fill(cipher, counter, out));
}

fn fill<K: Bytes>(cipher: &impl BlockCipher<K>, counter: u128, out: &mut [u8]) {
    let mut counter = counter;
    let mut blocks = [[0u8; BLOCK]; BATCH];
    for part in out.chunks_mut(BATCH * BLOCK) {
        let used = &mut blocks[..part.len().div_ceil(BLOCK)];
        for block in used.iter_mut() {
            *block = counter.to_be_bytes();
            counter = counter.wrapping_add(1);
        }
        cipher.encrypt(used);
        part.copy_from_slice(&used.as_flattened()[..part.len()]);
    }
    wipe(blocks.as_flattened_mut());
}
