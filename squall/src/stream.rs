//! A key as a seekable keystream.
//!
//! The same key gives the same bytes on every engine, however requests are split. The layer uses
//! no operating system: a stream lives where its owner puts it and is wiped on drop.

use core::fmt;

use crate::error::Error;
use crate::keystream::boxed;
use squall_drbg::internal::{BLOCK, ExpandedKey, Secret, registers};
use squall_drbg::{Aes256, Engine, Stores};

/// A reproducible, seekable stream of 2^64 bytes: AES-256 in counter mode from counter zero.
///
/// Byte `i` of the stream is byte `i % 16` of `AES-256(key, i / 16)`, the block counter as 16
/// big-endian bytes. For wiping, verifying and seeded data; `openssl enc -aes-256-ctr` with an
/// IV of zeros over zeros gives the same bytes.
///
/// # Security
/// The stream is as secret as its key, and reproducible by design: use each part of it once. It has no
/// backtracking resistance: whoever learns the key learns the whole stream. For keys and tokens
/// use [`fill`](crate::fill). The expanded key stays in one place on the heap, even if the value is
/// moved, and is wiped on drop. On x86-64 and aarch64 every function clears the vector registers before
/// it returns.
///
/// # Forks and clones
/// A fork or a VM clone continues the same stream on both sides.
///
/// # Source
/// FIPS 197; NIST SP 800-38A section 6.5.
pub struct Stream {
    key: Box<ExpandedKey<Aes256>>,
    /// Offset of the next byte, at most 2^64.
    position: u128,
}

/// Length of the stream, in bytes.
const END: u128 = 1 << 64;

impl Stream {
    /// The stream of `key`, at byte 0, on the best AES engine of this CPU.
    ///
    /// # Panics
    /// If there is no memory for the expanded key, some 300 bytes; [`Stream::new_on`] returns an
    /// error instead.
    pub fn new(key: &[u8; 32]) -> Self {
        Self::new_on(Engine::best_aes(), key).expect("out of memory for an expanded key")
    }

    /// Same as [`Stream::new`], on the given engine: the bytes are the same.
    ///
    /// # Errors
    /// [`Error::EngineUnavailable`] if this CPU lacks the engine or it is not AES;
    /// [`Error::OutOfMemory`].
    pub fn new_on(engine: Engine, key: &[u8; 32]) -> Result<Self, Error> {
        let _clear = registers::clear_on_return();
        Ok(Stream {
            key: boxed(key, engine)?,
            position: 0,
        })
    }

    /// Fills `out` with the next bytes of the stream.
    ///
    /// # Errors
    /// [`Error::EndOfStream`] if fewer than `out.len()` bytes are left; nothing is written then.
    pub fn fill(&mut self, out: &mut [u8]) -> Result<(), Error> {
        let end = self.position + out.len() as u128;
        if end > END {
            return Err(Error::EndOfStream);
        }
        let _clear = registers::clear_on_return();
        let stores = Stores::for_len(out.len());
        let block = self.position / BLOCK as u128;
        let skipped = (self.position % BLOCK as u128) as usize;
        let (head, rest) = out.split_at_mut(out.len().min((BLOCK - skipped) % BLOCK));
        if !head.is_empty() {
            let mut first = Secret::<BLOCK>::zeroed();
            self.key.keystream(block, &mut first[..], Stores::Cached);
            head.copy_from_slice(&first[skipped..][..head.len()]);
        }
        let next_block = block + u128::from(skipped != 0);
        self.key.keystream(next_block, rest, stores);
        self.position = end;
        Ok(())
    }

    /// Moves to byte `offset` of the stream.
    pub fn seek(&mut self, offset: u64) {
        self.position = u128::from(offset);
    }

    /// Offset of the next byte; `None` at the end, after byte 2^64 - 1.
    pub fn position(&self) -> Option<u64> {
        u64::try_from(self.position).ok()
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream")
            .field("position", &self.position)
            .finish_non_exhaustive()
    }
}
