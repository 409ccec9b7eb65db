//! A robust pseudorandom generator with input (Y. Dodis, D. Pointcheval, S. Ruhault, D. Vergnaud,
//! D. Wichs: Security Analysis of Pseudo-Random Number Generators with Input: /dev/random is not
//! Robust; ACM CCS 2013).
//!
//! ```text
//! seed       (X, X')  two elements of F_2^n: random, public, independent of the inputs
//! refresh    S = S·X + I
//! next       U = first 128 bits of X'·S;  (S, R) = first n + 128 bits of AES-128-CTR under U
//! ```
//!
//! Its security needs no estimate of entropy. An attacker who once knew the whole state can no longer
//! tell output from random bytes after inputs with γ* bits of min-entropy, with no output in between,
//! even if the attacker chooses further inputs. The notions:
//!
//! - *resilience*: output looks random to whoever chooses the inputs but does not know the state;
//! - *forward security*: output from before a compromise still does after it, because each output
//!   replaces the state (elsewhere: backtracking resistance);
//! - *backward security*: output does again once enough entropy has come in after a compromise;
//! - *robustness*: all three at once, at any time and as often as the attacker likes.
//!
//! Of the paper's sizes this has the smallest: n = 489 and γ* = 449 bits, for a security of 2^-40 and
//! five AES blocks an output.
//!
//! The paper names n; the polynomial is ours. Strings of bits begin with the lowest bit of
//! their first byte, and bit i of an element is the coefficient of x^i: so zeros behind a short
//! input change nothing, and the first 128 bits of an element are its first 16 bytes.
//!
//! Limits: if only a few bits since a compromise are unknown, the next output lets the attacker try
//! them out, and they are lost. A pool that releases entropy in portions recovers from that: see Y.
//! Dodis, A. Shamir, N. Stephens-Davidowitz, D. Wichs, How to Eat Your Entropy and Have It Too
//! (2014), for schedulers such as Fortuna's and one near the optimum. Moreover, the seed must be
//! independent of the inputs, which a hash does not ask for: S. Coretti, Y. Dodis, H.
//! Karthikeyan, S. Tessaro, Seedless Fruit Is the Sweetest (2019), prove extraction without a
//! seed if the hash is ideal. That is how to read Linux's pool since 2022 (BLAKE2s) and
//! [`Whirlwind`](squall::entropy::whirlwind): a stronger assumption instead of a seed.

mod field;
#[cfg(target_arch = "x86_64")]
mod pclmul;
mod portable;
#[cfg(test)]
mod tests;

use core::fmt;

use field::{DEGREE, Element};
use squall::Engine;
use squall::entropy::{Accumulator, Input};
use squall::hazmat::{Aes128, Keystream, Stores};
use zeroize::{ZeroizeOnDrop, Zeroizing};

/// Bytes of an AES block, and of an AES-128 key.
const BLOCK: usize = 16;

/// Bytes of an output R.
const OUTPUT_LEN: usize = 16;

/// Bytes of keystream an output takes: as many blocks as hold n + 128 bits.
const KEYSTREAM_LEN: usize = BLOCK * (DEGREE + 8 * OUTPUT_LEN).div_ceil(8 * BLOCK);

/// Why a seed or an input was refused. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RobustError(&'static str);

impl fmt::Display for RobustError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl core::error::Error for RobustError {}

/// The generator.
///
/// ```
/// use squall_robust_prng::Robust;
///
/// // Public, but drawn before there are inputs, and independent of them.
/// let (x, x_prime): ([u8; Robust::ELEMENT_LEN], [u8; Robust::ELEMENT_LEN]) =
///     (squall::array(), squall::array());
/// let mut robust = Robust::new(&x, &x_prime)?;
/// robust.refresh(b"as unpredictable as can be had")?;
/// let mut bytes = [0; 16];
/// robust.next(&mut bytes);
/// # Ok::<(), squall_robust_prng::RobustError>(())
/// ```
///
/// # Security
/// Do not draw before inputs with γ* bits of min-entropy are in. Robust with the
/// security of its field, if the seed was drawn uniformly and whoever chooses the
/// inputs' distribution did not know it. A new one is as predictable as its inputs: nothing else
/// is in it. The state is wiped on drop; it lives where the caller puts it, and a move leaves a
/// copy behind. Registers are not cleared: this is for research.
///
/// # Panics
/// [`next`](Robust::next) and what calls it, if no memory is left for the round keys.
///
/// # Forks and clones
/// There is no protection: a copy of the state repeats the output until inputs differ.
///
/// # Source
/// Dodis et al., CCS 2013 (construction, table, proof).
pub struct Robust {
    x: Element,
    x_prime: Element,
    state: Element,
}

impl Robust {
    /// Bytes of an element of the field: n / 8, rounded up.
    pub const ELEMENT_LEN: usize = Element::LEN;

    /// A generator with the seed (`x`, `x_prime`), each an element, and the state zero.
    ///
    /// Bits beyond the n of an element are ignored, so that uniform bytes make a uniform seed.
    ///
    /// # Errors
    /// One of them has another length or is zero, which would forget the state or all inputs.
    pub fn new(x: &[u8], x_prime: &[u8]) -> Result<Self, RobustError> {
        let mut robust = Robust {
            x: Element::zero(),
            x_prime: Element::zero(),
            state: Element::zero(),
        };
        for (place, bytes) in [(&mut robust.x, x), (&mut robust.x_prime, x_prime)] {
            if bytes.len() != Self::ELEMENT_LEN {
                return Err(RobustError("X and X' must be as long as an element"));
            }
            place.set(bytes);
            if place.is_zero() {
                return Err(RobustError(
                    "X and X' must not be zero: draw them at random",
                ));
            }
        }
        Ok(robust)
    }

    /// Mixes `input`, of at most an element, into the state. Zeros are appended to a shorter one. Even
    /// an empty one multiplies the state.
    ///
    /// # Errors
    /// It is longer, or has a bit beyond the n of an element: no part of an input is silently dropped.
    pub fn refresh(&mut self, input: &[u8]) -> Result<(), RobustError> {
        if input.len() > Self::ELEMENT_LEN || Element::exceeds(input) {
            return Err(RobustError("an input must fit into an element"));
        }
        self.absorb(input);
        Ok(())
    }

    /// S = S·X + I, for an input that fits.
    fn absorb(&mut self, input: &[u8]) {
        self.state.multiply_by(&self.x);
        self.state.add(input);
    }

    /// Writes 128 bits of output and replaces the state.
    pub fn next(&mut self, out: &mut [u8; OUTPUT_LEN]) {
        let mut key = Zeroizing::new([0; BLOCK]);
        self.extract(&mut key);
        let mut keystream = Zeroizing::new([0; KEYSTREAM_LEN]);
        Keystream::<Aes128>::new(&key, Engine::best_aes())
            .expect("an AES engine, and memory for its keys")
            .fill(0, &mut keystream[..], Stores::Cached);
        self.state.set(&keystream[..]);
        let (start, bits) = (DEGREE / 8, DEGREE % 8);
        for (i, byte) in out.iter_mut().enumerate() {
            let pair = [keystream[start + i], keystream[start + i + 1]];
            *byte = (u16::from_le_bytes(pair) >> bits) as u8;
        }
    }

    /// U, the first 128 bits of X'·S.
    fn extract(&self, key: &mut [u8; BLOCK]) {
        let mut product = Element::zero();
        product.copy_from(&self.state);
        product.multiply_by(&self.x_prime);
        *key = product.low().to_le_bytes();
    }
}

/// Each of its elements wipes itself.
impl ZeroizeOnDrop for Robust {}

impl Accumulator for Robust {
    fn add_input(&mut self, input: Input) {
        self.absorb(&input.to_bytes());
    }

    fn generate(&mut self, out: &mut [u8]) {
        let (blocks, rest) = out.as_chunks_mut();
        for block in blocks {
            self.next(block);
        }
        if !rest.is_empty() {
            let mut last = Zeroizing::new([0; OUTPUT_LEN]);
            self.next(&mut last);
            rest.copy_from_slice(&last[..rest.len()]);
        }
    }
}

impl fmt::Debug for Robust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Robust").finish_non_exhaustive()
    }
}

/// Runs the unit tests, which say what they need of the CPU.
#[cfg(test)]
fn main() -> std::process::ExitCode {
    tests::main()
}
