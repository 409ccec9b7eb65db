//! Arithmetic in a field: elements, factors that multiply many elements, and products, by the CPU's
//! instructions or the portable way.
//!
//! All operations take the same time for every element: no branch and no address depends on a
//! coefficient. Elements, products and tables are wiped; the parts of single words are not, which pass through
//! registers.

use core::marker::PhantomData;

use zeroize::Zeroize as _;

use super::field::{DoubleWords, MAX_WORDS, Words, sealed};
use super::portable;
#[cfg(target_arch = "x86_64")]
use super::{pclmul, vpclmul};

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
    fn copy_from(&mut self, other: &Self) {
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

    /// Sets the element to `other` times `factor`.
    #[inline]
    pub fn set_product(&mut self, other: &Self, factor: &Factor<F>) {
        #[cfg(target_arch = "x86_64")]
        if vpclmul::is_available::<F>() {
            return vpclmul::multiply::<F>(&other.words, &factor.table, &mut self.words);
        }
        self.copy_from(other);
        self.multiply_by(&factor.element);
    }

    /// Multiplies by `factor` and adds `bytes`, as [`add`](Self::add) does.
    #[inline]
    pub fn multiply_add(&mut self, factor: &Factor<F>, bytes: &[u8]) {
        debug_assert!(!Self::exceeds(bytes));
        #[cfg(target_arch = "x86_64")]
        if vpclmul::is_available::<F>() {
            return vpclmul::multiply_add::<F>(&mut self.words, &factor.table, bytes);
        }
        self.multiply_by(&factor.element);
        self.add(bytes);
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

/// A fixed factor with precomputed data for products. Wiped on drop.
pub(super) struct Factor<F: sealed::Field> {
    element: Element<F>,
    #[cfg(target_arch = "x86_64")]
    table: vpclmul::Table,
}

impl<F: sealed::Field> Factor<F> {
    pub fn zero() -> Self {
        Factor {
            element: Element::zero(),
            #[cfg(target_arch = "x86_64")]
            table: vpclmul::Table::zero(),
        }
    }

    /// Sets the factor to the first n bits of `bytes`, with zeros behind them.
    pub fn set(&mut self, bytes: &[u8]) {
        self.element.set(bytes);
        #[cfg(target_arch = "x86_64")]
        if vpclmul::is_available::<F>() {
            self.set_table();
        }
    }

    #[cfg(target_arch = "x86_64")]
    fn set_table(&mut self) {
        let mut digit = Element::<F>::zero();
        digit.words[2] = 1;
        let mut multiple = Element::<F>::zero();
        multiple.copy_from(&self.element);
        for d in 0..F::WORDS / 2 {
            self.table.set::<F>(d, &multiple.words);
            multiple.multiply_by(&digit);
        }
    }

    #[cfg(test)]
    pub fn element(&self) -> &Element<F> {
        &self.element
    }

    pub fn is_zero(&self) -> bool {
        self.element.is_zero()
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
