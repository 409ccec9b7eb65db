//! The fields F_2^n: polynomials over F_2 with fewer than n coefficients, modulo an irreducible
//! one of degree n; and arithmetic with their elements, by the CPU's instructions or the portable way.
//!
//! Coefficients are kept 64 to a word, that of x^0 first and lowest.
//!
//! All operations take the same time for every element: no branch and no address depends on a
//! coefficient. Elements and products are wiped; the parts of single words are not, which pass through
//! registers.

use core::marker::PhantomData;

use zeroize::Zeroize as _;

#[cfg(target_arch = "x86_64")]
use super::pclmul;
use super::portable;
use super::sealed;
use super::sealed::{DoubleWords, MAX_WORDS, Words};

/// A field F_2^n, and with n a level of security: see [the table](super). Sealed: these three
/// and no others.
pub trait Field: sealed::Field {}

/// F_2^489 modulo x^489 + x^83 + 1: security of 40 bits.
#[derive(Clone, Copy, Debug)]
pub struct Gf489;

/// F_2^579 modulo x^579 + x^12 + x^9 + x^7 + 1: security of 50 bits.
#[derive(Clone, Copy, Debug)]
pub struct Gf579;

/// F_2^705 modulo x^705 + x^17 + 1: security of 64 bits.
#[derive(Clone, Copy, Debug)]
pub struct Gf705;

impl Field for Gf489 {}
impl Field for Gf579 {}
impl Field for Gf705 {}

impl sealed::Field for Gf489 {
    const DEGREE: usize = 489;
    const TAPS: &'static [usize] = &[83, 0];
}

impl sealed::Field for Gf579 {
    const DEGREE: usize = 579;
    const TAPS: &'static [usize] = &[12, 9, 7, 0];
}

impl sealed::Field for Gf705 {
    const DEGREE: usize = 705;
    const TAPS: &'static [usize] = &[17, 0];
}

/// An element, wiped on drop.
pub(super) struct Element<F: sealed::Field> {
    words: Words,
    field: PhantomData<F>,
}

impl<F: sealed::Field> Element<F> {
    /// Bytes of an element.
    pub const LEN: usize = F::DEGREE.div_ceil(8);

    /// Coefficients in an element's last word.
    const LAST_BITS: usize = F::DEGREE % 64;

    pub fn zero() -> Self {
        const { F::IS_SOUND };
        Element {
            words: [0; MAX_WORDS],
            field: PhantomData,
        }
    }

    /// Sets the element to the first n bits of `bytes`, with zeros behind them.
    pub fn set(&mut self, bytes: &[u8]) {
        self.words = [0; MAX_WORDS];
        self.add_bytes(&bytes[..bytes.len().min(Self::LEN)]);
        self.words[F::DEGREE / 64] &= (1 << Self::LAST_BITS) - 1;
    }

    /// Adds `bytes`, no more than an element's, with zeros behind them; bits beyond n must be 0.
    pub fn add(&mut self, bytes: &[u8]) {
        debug_assert!(!Self::exceeds(bytes));
        self.add_bytes(bytes);
    }

    fn add_bytes(&mut self, bytes: &[u8]) {
        for (word, part) in self.words.iter_mut().zip(bytes.chunks(8)) {
            *word ^= match part.first_chunk() {
                Some(whole) => u64::from_le_bytes(*whole),
                None => part
                    .iter()
                    .rfold(0, |word, &byte| word << 8 | u64::from(byte)),
            };
        }
    }

    /// Whether `bytes`, no more than an element's, have a bit beyond n.
    pub fn exceeds(bytes: &[u8]) -> bool {
        let spare = 8 * Self::LEN - F::DEGREE;
        bytes.len() == Self::LEN && u32::from(bytes[Self::LEN - 1]) >> (8 - spare) != 0
    }

    #[cfg(test)]
    pub fn words(&self) -> &Words {
        &self.words
    }

    pub fn is_zero(&self) -> bool {
        self.words == [0; MAX_WORDS]
    }

    /// Sets the element to `other`.
    pub fn copy_from(&mut self, other: &Self) {
        self.words = other.words;
    }

    /// The first 128 coefficients, the lowest in the lowest bit.
    pub fn low(&self) -> u128 {
        u128::from(self.words[1]) << 64 | u128::from(self.words[0])
    }

    /// Multiplies by `factor`.
    #[inline]
    pub fn multiply_by(&mut self, factor: &Self) {
        let mut product = Product::<F>::zero();
        #[cfg(target_arch = "x86_64")]
        if pclmul::is_available() {
            pclmul::multiply::<F>(&self.words, &factor.words, &mut product.words);
            return self.set_reduced(&mut product);
        }
        portable::multiply::<F>(&self.words, &factor.words, &mut product.words);
        self.set_reduced(&mut product);
    }

    #[inline]
    fn set_reduced(&mut self, product: &mut Product<F>) {
        product.reduce();
        self.words[..F::WORDS].copy_from_slice(&product.words[..F::WORDS]);
    }
}

impl<F: sealed::Field> Drop for Element<F> {
    fn drop(&mut self) {
        self.words.zeroize();
    }
}

/// A product of two elements, wiped on drop.
struct Product<F: sealed::Field> {
    words: DoubleWords,
    field: PhantomData<F>,
}

impl<F: sealed::Field> Product<F> {
    #[inline]
    fn zero() -> Self {
        Product {
            words: [0; 2 * MAX_WORDS],
            field: PhantomData,
        }
    }

    /// Takes the product modulo the field's polynomial.
    #[inline]
    fn reduce(&mut self) {
        for _ in 0..F::PASSES {
            for i in (0..F::WORDS).rev() {
                self.fold(i);
            }
        }
    }

    /// Replaces the 64 coefficients from n + 64·i on, above which all must be 0, by what x^n equals:
    /// the polynomial's lower terms.
    #[inline]
    fn fold(&mut self, i: usize) {
        let words = &mut self.words[i..];
        let (start, bits) = (F::DEGREE / 64, F::DEGREE % 64);
        let high = words[start] >> bits | words[start + 1] << (64 - bits);
        words[start] &= (1 << bits) - 1;
        words[start + 1] = 0;
        for &tap in F::TAPS {
            let (start, bits) = (tap / 64, tap % 64);
            words[start] ^= high << bits;
            if bits != 0 {
                words[start + 1] ^= high >> (64 - bits);
            }
        }
    }
}

impl<F: sealed::Field> Drop for Product<F> {
    #[inline]
    fn drop(&mut self) {
        self.words.zeroize();
    }
}
