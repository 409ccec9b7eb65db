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
//! | field | n | γ* in bits | security | AES blocks an output |
//! | --- | --- | --- | --- | --- |
//! | [`Gf489`] | 489 | 449 | 2^-40 | 5 |
//! | [`Gf579`] | 579 | 529 | 2^-50 | 6 |
//! | [`Gf705`] | 705 | 641 | 2^-64 | 7 |
//!
//! The paper names n; the polynomials are ours. Strings of bits begin with the lowest bit of
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
mod sealed;
#[cfg(test)]
mod tests;

use core::fmt;

use field::Element;
pub use field::{Field, Gf489, Gf579, Gf705};
use squall::Engine;
use squall::entropy::{Accumulator, Input};
use squall::hazmat::{Aes128, Keystream, Stores};
use zeroize::{ZeroizeOnDrop, Zeroizing};

/// Bytes of an AES block, and of an AES-128 key.
const BLOCK: usize = 16;

/// Bytes of an output R.
const OUTPUT_LEN: usize = 16;

/// The longest keystream of any field, in bytes.
const MAX_KEYSTREAM_LEN: usize = 7 * BLOCK;

/// Why a seed or an input was refused. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RobustError {
    /// X or X' has not exactly the length of an element.
    SeedLength {
        /// Bytes required: [`Robust::ELEMENT_LEN`].
        required: usize,
        /// Bytes given.
        given: usize,
    },
    /// X or X' is zero, which would forget the state or all inputs.
    ZeroSeed,
    /// An input is longer than an element.
    InputTooLong {
        /// Bytes allowed: [`Robust::ELEMENT_LEN`].
        allowed: usize,
        /// Bytes given.
        given: usize,
    },
    /// An input has a bit beyond the n of an element.
    InputTooWide {
        /// Bits allowed: n.
        allowed: usize,
    },
}

impl fmt::Display for RobustError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RobustError::SeedLength { required, given } => {
                write!(
                    f,
                    "X and X' must be exactly {required} bytes, {given} were given"
                )
            }
            RobustError::ZeroSeed => f.write_str("X and X' must not be zero: draw them at random"),
            RobustError::InputTooLong { allowed, given } => {
                write!(
                    f,
                    "input of {given} bytes is too long: at most {allowed} are allowed"
                )
            }
            RobustError::InputTooWide { allowed } => {
                write!(f, "input must have zeros behind its first {allowed} bits")
            }
        }
    }
}

impl core::error::Error for RobustError {}

/// The generator.
///
/// ```
/// use squall_robust_prng::Robust;
///
/// // Public, but drawn before there are inputs, and independent of them.
/// let (x, x_prime): ([u8; <Robust>::ELEMENT_LEN], [u8; <Robust>::ELEMENT_LEN]) =
///     (squall::array(), squall::array());
/// let mut robust = <Robust>::new(&x, &x_prime)?;
/// robust.refresh(b"as unpredictable as can be had")?;
/// let mut bytes = [0; 16];
/// robust.next(&mut bytes);
/// # Ok::<(), squall_robust_prng::RobustError>(())
/// ```
///
/// # Security
/// Do not draw before inputs with γ* bits of min-entropy (449, 529, 641) are in. Robust with the
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
pub struct Robust<F: Field = Gf489> {
    x: Element<F>,
    x_prime: Element<F>,
    state: Element<F>,
}

impl<F: Field> Robust<F> {
    /// Bytes of an element of the field: n / 8, rounded up.
    pub const ELEMENT_LEN: usize = Element::<F>::LEN;

    /// A generator with the seed (`x`, `x_prime`), each an element, and the state zero.
    ///
    /// Bits beyond the n of an element are ignored, so that uniform bytes make a uniform seed.
    ///
    /// # Errors
    /// [`RobustError::SeedLength`]; [`RobustError::ZeroSeed`].
    pub fn new(x: &[u8], x_prime: &[u8]) -> Result<Self, RobustError> {
        let mut robust = Robust {
            x: Element::zero(),
            x_prime: Element::zero(),
            state: Element::zero(),
        };
        for (place, bytes) in [(&mut robust.x, x), (&mut robust.x_prime, x_prime)] {
            if bytes.len() != Self::ELEMENT_LEN {
                return Err(RobustError::SeedLength {
                    required: Self::ELEMENT_LEN,
                    given: bytes.len(),
                });
            }
            place.set(bytes);
            if place.is_zero() {
                return Err(RobustError::ZeroSeed);
            }
        }
        Ok(robust)
    }

    /// Mixes `input`, of at most an element, into the state. Zeros are appended to a shorter one. Even
    /// an empty one multiplies the state.
    ///
    /// # Errors
    /// [`RobustError::InputTooLong`], [`RobustError::InputTooWide`]: no part of an input is silently
    /// dropped.
    pub fn refresh(&mut self, input: &[u8]) -> Result<(), RobustError> {
        if input.len() > Self::ELEMENT_LEN {
            return Err(RobustError::InputTooLong {
                allowed: Self::ELEMENT_LEN,
                given: input.len(),
            });
        }
        if Element::<F>::exceeds(input) {
            return Err(RobustError::InputTooWide { allowed: F::DEGREE });
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
        let mut keystream = Zeroizing::new([0; MAX_KEYSTREAM_LEN]);
        let used = &mut keystream[..Self::KEYSTREAM_LEN];
        Keystream::<Aes128>::new(&key, Engine::best_aes())
            .expect("an AES engine, and memory for its keys")
            .fill(0, used, Stores::Cached);
        self.state.set(used);
        let (start, bits) = (F::DEGREE / 8, F::DEGREE % 8);
        for (i, byte) in out.iter_mut().enumerate() {
            let pair = [used[start + i], used[start + i + 1]];
            *byte = (u16::from_le_bytes(pair) >> bits) as u8;
        }
    }

    /// Bytes of keystream an output takes: as many blocks as hold n + 128 bits.
    const KEYSTREAM_LEN: usize = BLOCK * (F::DEGREE + 8 * OUTPUT_LEN).div_ceil(8 * BLOCK);

    /// U, the first m bits of X'·S, with zeros behind them.
    fn extract(&self, key: &mut [u8; BLOCK]) {
        let mut product = Element::zero();
        product.copy_from(&self.state);
        product.multiply_by(&self.x_prime);
        let mask = u128::MAX >> (128 - F::KEY_BITS);
        *key = (product.low() & mask).to_le_bytes();
    }
}

/// Each of its elements wipes itself.
impl<F: Field> ZeroizeOnDrop for Robust<F> {}

impl<F: Field> Accumulator for Robust<F> {
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

impl<F: Field> fmt::Debug for Robust<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Robust").finish_non_exhaustive()
    }
}

/// Runs the unit tests, which say what they need of the CPU.
#[cfg(test)]
fn main() -> std::process::ExitCode {
    tests::main()
}
