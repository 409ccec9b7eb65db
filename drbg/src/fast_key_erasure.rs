//! ChaCha20 with fast key erasure: the generator for CPUs without AES instructions.
//!
//! Every request runs the cipher under the current key with nonce and counter zero; the first
//! 32 bytes of keystream become the next key, the rest is the output (D. J. Bernstein,
//! "Fast-key-erasure random-number generators", 2017; Linux's `crng_fast_key_erasure`).

use core::fmt;

use zeroize::ZeroizeOnDrop;

use crate::engine::chacha20;
use crate::secret::{Secret, State, try_without_traces, wipe, without_traces};
use crate::{Error, MAX_REQUEST};

const KEY_LEN: usize = 32;

/// ChaCha20 blocks are 64 bytes (RFC 8439 section 2.3).
const BLOCK: usize = 64;

/// Maximum number of bytes computed together with the next key: a batch of the widest engine.
/// Computing the key's block alone takes as long as computing eight.
const FIRST: usize = 16 * BLOCK;

/// A deterministic random bit generator: ChaCha20 with fast key erasure.
///
/// # Security
/// Backtracking resistant: the key is replaced by every request before the output leaves. The
/// key lives where the caller puts it and is wiped there on drop; moving the value leaves a copy
/// behind, from which all output until the next reseed can be computed.
///
/// # Forks and clones
/// Not protected: a copy of the state repeats the output. This is a building block; the crate
/// `squall` protects its generators.
///
/// # Source
/// RFC 8439; Bernstein, "Fast-key-erasure random-number generators" (2017). Input is mixed as
/// CTR_DRBG's update does: XOR into the next key.
pub struct FastKeyErasure {
    key: [u8; KEY_LEN],
}

impl FastKeyErasure {
    /// A generator keyed with 32 bytes of full entropy.
    pub fn new(key: &[u8; KEY_LEN]) -> Self {
        without_traces(|| Self::from_state(key))
    }

    /// The generator whose state [`State::store`] stored. The caller wipes the stack and clears the registers.
    #[doc(hidden)]
    #[inline]
    pub fn from_state(key: &[u8; KEY_LEN]) -> Self {
        FastKeyErasure { key: *key }
    }

    /// Mixes 32 bytes of fresh entropy into the key.
    pub fn reseed(&mut self, entropy: &[u8; KEY_LEN]) {
        without_traces(|| self.reseed_unwiped(entropy));
    }

    /// Fills `out`, at most 2^16 bytes, after mixing in `additional`, which may be empty and has
    /// at most 32 bytes.
    ///
    /// # Errors
    /// [`Error::RequestTooLong`], [`Error::InputTooLong`]; nothing is written and the key is
    /// unchanged then.
    pub fn generate(&mut self, out: &mut [u8], additional: &[u8]) -> Result<(), Error> {
        try_without_traces(|| self.generate_unwiped(out, additional))
    }

    /// [`FastKeyErasure::generate`]. The caller wipes the stack and clears the registers.
    #[doc(hidden)]
    pub fn generate_unwiped(&mut self, out: &mut [u8], additional: &[u8]) -> Result<(), Error> {
        if out.len() > MAX_REQUEST {
            return Err(Error::RequestTooLong { given: out.len() });
        }
        if additional.len() > KEY_LEN {
            return Err(Error::InputTooLong {
                allowed: KEY_LEN,
                given: additional.len(),
            });
        }
        if !additional.is_empty() {
            self.reseed_unwiped(additional);
        }
        let mut first = Secret::<FIRST>::zeroed();
        let first_len = (KEY_LEN + out.len()).next_multiple_of(BLOCK).min(FIRST);
        let (front, rest) = out.split_at_mut(out.len().min(first_len - KEY_LEN));
        chacha20::keystream(&self.key, &[0; 12], 0, &mut first[..first_len]);
        chacha20::keystream(&self.key, &[0; 12], (first_len / BLOCK) as u32, rest);
        self.key.copy_from_slice(&first[..KEY_LEN]);
        front.copy_from_slice(&first[KEY_LEN..][..front.len()]);
        Ok(())
    }

    /// Replaces the key by the next one, with `input` XORed in. The caller wipes the stack and clears the registers.
    #[doc(hidden)]
    pub fn reseed_unwiped(&mut self, input: &[u8]) {
        let mut next = Secret::<KEY_LEN>::zeroed();
        chacha20::keystream(&self.key, &[0; 12], 0, &mut next[..]);
        for (n, i) in next.iter_mut().zip(input) {
            *n ^= i;
        }
        self.key.copy_from_slice(&next[..]);
    }
}

impl State<KEY_LEN> for FastKeyErasure {
    #[inline]
    fn store(&self, state: &mut [u8; KEY_LEN]) {
        *state = self.key;
    }
}

impl Drop for FastKeyErasure {
    fn drop(&mut self) {
        wipe(&mut self.key);
    }
}

impl ZeroizeOnDrop for FastKeyErasure {}

impl fmt::Debug for FastKeyErasure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FastKeyErasure { .. }")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::tests::{around_drop, copy_stack_below};
    use crate::secret::{STACK, in_separate_frame, wipe_stack_below};

    /// The thread's page relies on this: it stores only the key.
    #[test]
    fn a_generator_is_restored_from_its_key() {
        let mut generator = FastKeyErasure::new(&[7; KEY_LEN]);
        generator.generate(&mut [0; 100], &[]).unwrap();
        let mut key = [0; KEY_LEN];
        generator.store(&mut key);
        let mut copy = FastKeyErasure::new(&key);
        let [mut next, mut of_copy] = [[0; 100]; 2];
        generator.generate(&mut next, &[]).unwrap();
        copy.generate(&mut of_copy, &[]).unwrap();
        assert_eq!(next, of_copy);
    }

    /// The buffer that has the next key and the first bytes wipes itself, whatever the caller wipes.
    #[cfg_attr(miri, ignore = "it reads the stack below its frame")]
    #[test]
    fn the_stack_has_no_output_after_a_request() {
        let mut generator = FastKeyErasure::new(&[7; KEY_LEN]);
        let mut out = [0; 256];
        let mut stack = vec![0; 4 * STACK];
        wipe_stack_below::<{ 5 * STACK }>();
        in_separate_frame(|| generator.generate_unwiped(&mut out, &[]).unwrap());
        copy_stack_below(&mut stack);
        let mut words = out.chunks_exact(8);
        assert!(words.all(|word| !stack.windows(8).any(|bytes| bytes == word)));
    }

    #[test]
    fn dropping_a_generator_wipes_it() {
        let around = around_drop(FastKeyErasure::new(&[7; KEY_LEN]), |generator| {
            // SAFETY: the value's memory; a key is plain bytes, before and after its drop.
            unsafe { (&raw const (*generator).key).read_volatile() }
        });
        assert_eq!(around, [[7; KEY_LEN], [0; KEY_LEN]]);
    }
}
