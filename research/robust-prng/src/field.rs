//! The field F_2^n with n = 489: polynomials over F_2 with fewer than n coefficients, modulo x^489 + x^83 + 1; and
//! arithmetic with them, by the CPU's instructions or the portable way.
//!
//! Coefficients are kept 64 to a word, that of x^0 first and lowest.
//!
//! All operations take the same time for every element: no branch and no address depends on a
//! coefficient. Elements and products are wiped; the parts of single words are not, which pass through
//! registers.

use zeroize::Zeroize as _;

#[cfg(target_arch = "x86_64")]
use super::pclmul;
use super::portable::{self, DoubleWords, WORDS, Words};

/// n.
pub(super) const DEGREE: usize = 489;

/// Exponents of the polynomial's terms below x^n. They are so small that a word above x^n is replaced by words that
/// lie wholly below it.
pub(super) const TAPS: [usize; 2] = [83, 0];

/// An element, wiped on drop.
pub(super) struct Element {
    words: Words,
}

impl Element {
    /// Bytes of an element.
    pub const LEN: usize = DEGREE.div_ceil(8);

    /// Coefficients in an element's last word.
    const LAST_BITS: usize = DEGREE % 64;

    pub fn zero() -> Self {
        Element { words: [0; WORDS] }
    }

    /// Sets the element to the first n bits of `bytes`, with zeros behind them.
    pub fn set(&mut self, bytes: &[u8]) {
        self.words = [0; WORDS];
        self.add_bytes(&bytes[..bytes.len().min(Self::LEN)]);
        self.words[DEGREE / 64] &= (1 << Self::LAST_BITS) - 1;
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
        let spare = 8 * Self::LEN - DEGREE;
        bytes.len() == Self::LEN && u32::from(bytes[Self::LEN - 1]) >> (8 - spare) != 0
    }

    #[cfg(test)]
    pub fn words(&self) -> &Words {
        &self.words
    }

    pub fn is_zero(&self) -> bool {
        self.words == [0; WORDS]
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
        let mut product = Product::zero();
        #[cfg(target_arch = "x86_64")]
        if pclmul::is_available() {
            pclmul::multiply(&self.words, &factor.words, &mut product.words);
            return self.set_reduced(&mut product);
        }
        portable::multiply(&self.words, &factor.words, &mut product.words);
        self.set_reduced(&mut product);
    }

    #[inline]
    fn set_reduced(&mut self, product: &mut Product) {
        product.reduce();
        self.words.copy_from_slice(&product.words[..WORDS]);
    }
}

impl Drop for Element {
    fn drop(&mut self) {
        self.words.zeroize();
    }
}

/// A product of two elements, wiped on drop.
struct Product {
    words: DoubleWords,
}

impl Product {
    #[inline]
    fn zero() -> Self {
        Product {
            words: [0; 2 * WORDS],
        }
    }

    /// Takes the product modulo the field's polynomial.
    #[inline]
    fn reduce(&mut self) {
        for i in (0..WORDS).rev() {
            self.fold(i);
        }
    }

    /// Replaces the 64 coefficients from n + 64·i on, above which all must be 0, by what x^n equals:
    /// the polynomial's lower terms.
    #[inline]
    fn fold(&mut self, i: usize) {
        let words = &mut self.words[i..];
        let (start, bits) = (DEGREE / 64, DEGREE % 64);
        let high = words[start] >> bits | words[start + 1] << (64 - bits);
        words[start] &= (1 << bits) - 1;
        words[start + 1] = 0;
        for &tap in &TAPS {
            let (start, bits) = (tap / 64, tap % 64);
            words[start] ^= high << bits;
            if bits != 0 {
                words[start + 1] ^= high >> (64 - bits);
            }
        }
    }
}

impl Drop for Product {
    #[inline]
    fn drop(&mut self) {
        self.words.zeroize();
    }
}
