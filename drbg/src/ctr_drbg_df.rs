//! CTR_DRBG of NIST SP 800-90A Rev. 1 with derivation function: Block_Cipher_df (section 10.3.2) before the core of
//! `ctr_drbg.rs`.
//!
//! The inputs are read once, in the pieces in which they come: BCC (section 10.3.3) runs for all blocks of its output
//! side by side, so nothing is allocated and no input is copied but for one block.

use core::fmt;

use zeroize::{ZeroizeOnDrop, Zeroizing};

use crate::Error;
use crate::ctr_drbg::{CtrDrbg, MAX_SEED_LEN};
use crate::engine::{BLOCK, Cipher, Engine, ExpandedKey, Stores};
use crate::secret::{Secret, try_without_traces, without_traces};

/// A deterministic random bit generator: CTR_DRBG with AES and the derivation function.
///
/// The derivation function makes a seed of input of any length and quality:
///
/// | input | bytes |
/// | --- | --- |
/// | entropy | at least 16 for [`Aes128`](crate::Aes128), 32 for [`Aes256`](crate::Aes256), with 128 or 256 bits of entropy |
/// | nonce | half as many; none is needed if the entropy input has half as much entropy again (section 8.6.7) |
/// | personalization string, additional input | any number |
///
/// The inputs of one call have at most 2^32 − 1 bytes together: their length is a number of 32 bits (section 10.3.2).
///
/// ```
/// use squall_drbg::{Aes256, CtrDrbgDf};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut entropy = [0; 48];
/// getrandom::fill(&mut entropy)?;
/// let mut drbg = CtrDrbgDf::<Aes256>::instantiate(&entropy, b"", b"example")?;
/// let mut key = [0; 32];
/// drbg.generate(&mut key, b"")?;
/// getrandom::fill(&mut entropy)?;
/// drbg.generate_with_prediction_resistance(&mut key, &entropy, b"")?;
/// # Ok(())
/// # }
/// ```
///
/// # Security
/// As [`CtrDrbg`]: backtracking resistant, prediction resistant for requests that bring entropy, wiped on drop. The
/// registers and the stack that the derivation function used are wiped. Lengths are not secret; no branch and no address
/// depends on other input.
///
/// # Forks and clones
/// Not protected: a copy of the state, by `fork` or by a VM snapshot, repeats the output.
///
/// # Source
/// NIST SP 800-90A Rev. 1 sections 9, 10.2.1 and 10.3; checked against the 1440 vectors of NIST's CAVP with derivation
/// function, for AES-128 and AES-256.
pub struct CtrDrbgDf<C: Cipher> {
    core: CtrDrbg<C>,
}

impl<C: Cipher> CtrDrbgDf<C> {
    /// Instantiates the generator on the best AES engine of this CPU (section 10.2.1.3.2).
    ///
    /// The nonce must not repeat (section 8.6.7). It is not checked: it may be empty if the entropy input has half as much
    /// entropy again, as 48 bytes of the system's generator have for AES-256.
    ///
    /// # Errors
    /// [`Error::EntropyTooShort`], [`Error::InputTooLong`].
    pub fn instantiate(
        entropy: &[u8],
        nonce: &[u8],
        personalization: &[u8],
    ) -> Result<Self, Error> {
        Self::instantiate_on(Engine::best_aes(), entropy, nonce, personalization)
    }

    /// Same as [`CtrDrbgDf::instantiate`], on the given engine.
    ///
    /// # Errors
    /// Also [`Error::EngineUnavailable`].
    pub fn instantiate_on(
        engine: Engine,
        entropy: &[u8],
        nonce: &[u8],
        personalization: &[u8],
    ) -> Result<Self, Error> {
        without_traces(|| {
            let mut core = CtrDrbg::unseeded(engine)?;
            seed(&mut core, entropy, &[entropy, nonce, personalization])?;
            Ok(CtrDrbgDf { core })
        })
    }

    /// Mixes fresh entropy into the state (section 10.2.1.4.2). `additional` may be empty.
    ///
    /// # Errors
    /// [`Error::EntropyTooShort`], [`Error::InputTooLong`]; the state is unchanged then.
    pub fn reseed(&mut self, entropy: &[u8], additional: &[u8]) -> Result<(), Error> {
        try_without_traces(|| seed(&mut self.core, entropy, &[entropy, additional]))
    }

    /// Fills `out`, at most 2^16 bytes, after mixing in `additional`, which may be empty (section 10.2.1.5.2).
    ///
    /// # Errors
    /// [`Error::RequestTooLong`], [`Error::ReseedRequired`], [`Error::InputTooLong`]; nothing is
    /// written and the state is unchanged then.
    pub fn generate(&mut self, out: &mut [u8], additional: &[u8]) -> Result<(), Error> {
        try_without_traces(|| {
            if additional.is_empty() {
                return self.core.generate_unwiped(out, additional, Stores::Cached);
            }
            let mut derived = Secret::zeroed();
            block_cipher_df::<C>(self.core.engine(), &[additional], &mut derived)?;
            let derived = &derived[..C::SEED_LEN];
            self.core.generate_unwiped(out, derived, Stores::Cached)
        })
    }

    /// Fills `out`, at most 2^16 bytes, with prediction resistance: reseeds with `entropy` and `additional`, which may be
    /// empty, and generates without additional input (section 9.3.1, steps 7 and 8).
    ///
    /// # Errors
    /// [`Error::RequestTooLong`], [`Error::EntropyTooShort`], [`Error::InputTooLong`]; nothing is written and the state
    /// is unchanged then.
    pub fn generate_with_prediction_resistance(
        &mut self,
        out: &mut [u8],
        entropy: &[u8],
        additional: &[u8],
    ) -> Result<(), Error> {
        self.core
            .generate_after(out, |core| seed(core, entropy, &[entropy, additional]))
    }

    /// The reseed counter: 1 after a reseed, and one more after each request. After 2^48 requests, `generate` is refused.
    pub fn reseed_counter(&self) -> u64 {
        self.core.reseed_counter()
    }
}

/// Derives a seed from `inputs`, `entropy` among them, and updates the state with it. The caller wipes and clears.
fn seed<C: Cipher>(core: &mut CtrDrbg<C>, entropy: &[u8], inputs: &[&[u8]]) -> Result<(), Error> {
    if entropy.len() < C::KEY_LEN {
        return Err(Error::EntropyTooShort {
            required: C::KEY_LEN,
            given: entropy.len(),
        });
    }
    let mut seed = Secret::zeroed();
    block_cipher_df::<C>(core.engine(), inputs, &mut seed)?;
    core.reseed_with(&seed);
    Ok(())
}

// The core wipes itself.
impl<C: Cipher> ZeroizeOnDrop for CtrDrbgDf<C> {}

impl<C: Cipher> fmt::Debug for CtrDrbgDf<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CtrDrbgDf")
            .field("engine", &self.core.engine())
            .finish_non_exhaustive()
    }
}

/// Block_Cipher_df (section 10.3.2) of the inputs one after the other, into the first `seedlen` bytes of `seed`. The caller
/// wipes the stack and clears the registers.
fn block_cipher_df<C: Cipher>(
    engine: Engine,
    inputs: &[&[u8]],
    seed: &mut Secret<MAX_SEED_LEN>,
) -> Result<(), Error> {
    let len = total_len(inputs.iter().map(|input| input.len()))?;
    derive::<C>(engine, len, inputs, seed);
    Ok(())
}

/// `L`, the length of the inputs, which is encoded in 32 bits (step 2).
fn total_len(lens: impl Iterator<Item = usize>) -> Result<u32, Error> {
    let len = lens.fold(0, usize::saturating_add);
    u32::try_from(len).map_err(|_| Error::InputTooLong {
        allowed: u32::MAX as usize,
        given: len,
    })
}

#[inline(never)]
fn derive<C: Cipher>(engine: Engine, len: u32, inputs: &[&[u8]], seed: &mut Secret<MAX_SEED_LEN>) {
    let mut expanded = ExpandedKey::<C>::empty(engine);
    let mut key = Zeroizing::new(C::Key::default());
    for (byte, i) in key.as_mut().iter_mut().zip(0..) {
        *byte = i;
    }
    expanded.set(&key);

    // S = L || N || input || 0x80, which its last block pads with zeros (steps 2 to 5).
    let mut bcc = Bcc::new(&expanded);
    bcc.update(&len.to_be_bytes());
    bcc.update(&(C::SEED_LEN as u32).to_be_bytes());
    inputs.iter().for_each(|input| bcc.update(input));
    let temp = bcc.finish();

    let (first, last) = temp[..C::SEED_LEN].split_at(C::KEY_LEN);
    key.as_mut().copy_from_slice(first);
    let mut x = Secret::<BLOCK>::zeroed();
    x.copy_from_slice(last);
    expanded.set(&key);
    for block in seed[..C::SEED_LEN].chunks_exact_mut(BLOCK) {
        encrypt(&expanded, &*x, block);
        x.copy_from_slice(block);
    }
}

/// BCC (section 10.3.3), for each block of its output from the same input: block `i` begins with the initialization vector
/// that starts with `i` in 32 bits (section 10.3.2 step 9).
struct Bcc<'k, C: Cipher> {
    expanded: &'k ExpandedKey<C>,
    chaining_values: Secret<MAX_SEED_LEN>,
    /// Input of a block that is not complete.
    block: Secret<BLOCK>,
    filled: usize,
}

impl<'k, C: Cipher> Bcc<'k, C> {
    fn new(expanded: &'k ExpandedKey<C>) -> Self {
        let mut bcc = Bcc {
            expanded,
            chaining_values: Secret::zeroed(),
            block: Secret::zeroed(),
            filled: 0,
        };
        for (value, i) in bcc.chaining_values.chunks_exact_mut(BLOCK).zip(0u8..) {
            let mut iv = [0; BLOCK];
            iv[3] = i;
            encrypt(expanded, &iv, value);
        }
        bcc
    }

    fn update(&mut self, input: &[u8]) {
        let mut rest = input;
        while !rest.is_empty() {
            let (front, behind) = rest.split_at(rest.len().min(BLOCK - self.filled));
            self.block[self.filled..][..front.len()].copy_from_slice(front);
            self.filled += front.len();
            rest = behind;
            if self.filled == BLOCK {
                self.chain();
            }
        }
    }

    /// Chains the block to each value.
    fn chain(&mut self) {
        for value in self.chaining_values[..C::SEED_LEN].chunks_exact_mut(BLOCK) {
            let mut block = Secret::<BLOCK>::zeroed();
            for ((b, v), i) in block.iter_mut().zip(&*value).zip(self.block.iter()) {
                *b = v ^ i;
            }
            encrypt(self.expanded, &*block, value);
        }
        self.filled = 0;
    }

    /// Pads the input and returns the chaining values.
    fn finish(&mut self) -> &Secret<MAX_SEED_LEN> {
        self.update(&[0x80]);
        if self.filled > 0 {
            self.block[self.filled..].fill(0);
            self.chain();
        }
        &self.chaining_values
    }
}

/// Block_Encrypt: a block of keystream is the encryption of its counter.
fn encrypt<C: Cipher>(expanded: &ExpandedKey<C>, block: &[u8], out: &mut [u8]) {
    let block = u128::from_be_bytes(block.try_into().expect("a block"));
    expanded.keystream(block, out, Stores::Cached);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ctr_drbg::MAX_REQUEST;
    use crate::engine::{Aes128, Aes256};
    use crate::secret::tests::copy_stack_below;
    use crate::secret::{STACK, in_separate_frame, wipe_stack_below};

    #[test]
    #[cfg(target_pointer_width = "64")]
    fn the_inputs_have_less_than_2_32_bytes_together() {
        let total = |lens: &[usize]| total_len(lens.iter().copied());
        let max = u32::MAX as usize;
        assert_eq!(total(&[]), Ok(0));
        assert_eq!(total(&[1 << 31, (1 << 31) - 2, 1]), Ok(u32::MAX));
        let too_long = |given| {
            Err(Error::InputTooLong {
                allowed: max,
                given,
            })
        };
        assert_eq!(total(&[max, 1]), too_long(1 << 32));
        assert_eq!(total(&[usize::MAX, usize::MAX]), too_long(usize::MAX));
    }

    #[cfg_attr(miri, ignore = "it takes gigabytes")]
    #[test]
    #[cfg(target_pointer_width = "64")]
    fn longer_inputs_are_refused_and_change_nothing() {
        // Memory that is never touched.
        let long = vec![0; 1 << 32];
        let make = |entropy| CtrDrbgDf::<Aes256>::instantiate(entropy, b"", b"");
        let (mut refusing, mut other) = (make(&[7; 48]).unwrap(), make(&[7; 48]).unwrap());
        let mut out = [0; 16];
        let refused = [
            make(&long).map(drop),
            refusing.reseed(&long, b""),
            refusing.generate(&mut out, &long),
            refusing.generate_with_prediction_resistance(&mut out, &long, b""),
        ];
        let is_too_long =
            |result: &Result<(), Error>| matches!(result, Err(Error::InputTooLong { .. }));
        assert!(refused.iter().all(is_too_long), "{refused:?}");
        assert_eq!(out, [0; 16]);
        let mut expected = [0; 16];
        other.generate(&mut expected, b"").unwrap();
        refusing.generate(&mut out, b"").unwrap();
        assert_eq!(out, expected);
    }

    #[test]
    fn the_reseed_counter_counts_requests() {
        let mut drbg = CtrDrbgDf::<Aes128>::instantiate(&[7; 16], &[8; 8], b"").unwrap();
        assert_eq!(drbg.reseed_counter(), 1);
        drbg.generate(&mut [0; 16], b"").unwrap();
        drbg.generate(&mut [0; 16], b"input").unwrap();
        assert_eq!(drbg.reseed_counter(), 3);
        let resistant = drbg.generate_with_prediction_resistance(&mut [0; 16], &[9; 16], b"input");
        assert_eq!((resistant, drbg.reseed_counter()), (Ok(()), 2));
        drbg.reseed(&[9; 16], b"").unwrap();
        assert_eq!(drbg.reseed_counter(), 1);
    }

    #[cfg_attr(miri, ignore = "it takes many minutes")]
    #[test]
    fn the_longest_request_is_served_with_prediction_resistance() {
        let mut out = vec![0; MAX_REQUEST];
        let mut drbg = CtrDrbg::<Aes256>::instantiate(&[7; 48], b"").unwrap();
        let served = drbg.generate_with_prediction_resistance(&mut out, &[9; 48], b"");
        assert_eq!(served, Ok(()));
        let mut drbg = CtrDrbgDf::<Aes256>::instantiate(&[7; 48], b"", b"").unwrap();
        let served = drbg.generate_with_prediction_resistance(&mut out, &[9; 32], b"");
        assert_eq!(served, Ok(()));
    }

    /// The depths at which `work` leaves something on a stack of zeros.
    fn depths_left(work: impl FnOnce()) -> Vec<usize> {
        let mut copy = vec![0; 4 * STACK];
        wipe_stack_below::<{ 5 * STACK }>();
        in_separate_frame(work);
        copy_stack_below(&mut copy);
        let below = copy.iter().rev().enumerate();
        below
            .filter(|(_, byte)| **byte != 0)
            .map(|(depth, _)| depth)
            .collect()
    }

    #[cfg_attr(miri, ignore = "it reads the stack below its frame")]
    #[test]
    fn the_stack_of_the_derivation_function_is_wiped() {
        /// Frames of the functions that wipe.
        const ABOVE: usize = 256;
        let input = [0xa5; 40];
        // The portable engine uses more stack, and wipes it.
        let instructions = |engine: &Engine| engine.is_aes() && *engine != Engine::Portable;
        for engine in Engine::available().filter(instructions) {
            let mut drbg = CtrDrbgDf::<Aes256>::instantiate_on(engine, &input, b"", b"").unwrap();
            let used = depths_left(|| seed(&mut drbg.core, &input, &[&input]).unwrap());
            let deepest = *used.last().expect("the search finds what is left");
            assert!(
                (ABOVE..STACK).contains(&deepest),
                "{engine}: {deepest} bytes"
            );
            let left = depths_left(|| drbg.reseed(&input, b"").unwrap());
            let left = left.iter().filter(|depth| (ABOVE..STACK).contains(depth));
            assert_eq!(left.count(), 0, "{engine}");
        }
    }
}
