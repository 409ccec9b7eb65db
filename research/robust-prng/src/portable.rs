//! Products of polynomials over F_2 by integer multiplication, on any CPU.
//!
//! An integer product is a polynomial product with carries. If only every fifth bit of both
//! factors is used, at most 13 ones meet in one place, and their sum of four bits ends before the
//! next place that is used: the lowest bit of each sum is the coefficient. Five by five such
//! products make the product of two words.
//!
//! Words are multiplied by Karatsuba's trick on all pairs at once (A. Weimerskirch, C. Paar:
//! Generalizations of the Karatsuba Algorithm for Efficient Implementations, 2006): because
//! a_i·b_j + a_j·b_i = (a_i + a_j)·(b_i + b_j) + a_i·b_i + a_j·b_j, W words take W·(W+1)/2
//! multiplications.
//!
//! The time is the same for all coefficients if that of integer multiplication is: MUL is on the
//! lists of such instructions that Intel (DOIT) and ARM (DIT) keep. On an EPYC 9004, a product
//! for n = 489 takes 0.49 µs; shifting and masking, which multiplies nothing, took 3.4.

use zeroize::Zeroize as _;

/// Words of an element: an even number, so that a vector holds two.
pub(super) const WORDS: usize = 8;

/// The coefficients of an element.
pub(super) type Words = [u64; WORDS];

/// The coefficients of a product before it is reduced.
pub(super) type DoubleWords = [u64; 2 * WORDS];

/// Distance of the bits used together.
const SPACING: usize = 5;

/// Bits 0, 5, 10 and so on.
const EVERY_FIFTH: u128 = {
    let mut mask = 0;
    let mut bit = 0;
    while bit < 128 {
        mask |= 1 << bit;
        bit += SPACING;
    }
    mask
};

/// Sets `product` to `a`·`b`, not reduced, as `pclmul.rs` does.
pub(super) fn multiply(a: &Words, b: &Words, product: &mut DoubleWords) {
    let mut diagonal = [0u128; WORDS];
    // The terms at word k of the product, except the diagonal.
    let mut columns = [0u128; 2 * WORDS];
    for i in 0..WORDS {
        diagonal[i] = multiply_words(a[i], b[i]);
        for j in 0..i {
            columns[i + j] ^= multiply_words(a[i] ^ a[j], b[i] ^ b[j]);
        }
    }
    // Of the diagonal, column k has every i for which k - i is the number of a word.
    let mut in_column = 0;
    let mut above = 0;
    for k in 0..2 * WORDS - 1 {
        in_column ^= diagonal[k % WORDS];
        let column = columns[k] ^ in_column;
        product[k] = column as u64 ^ above;
        above = (column >> 64) as u64;
    }
    product[2 * WORDS - 1] = above;
    diagonal.zeroize();
    columns.zeroize();
}

/// The product of two words of 64 coefficients.
#[inline]
fn multiply_words(a: u64, b: u64) -> u128 {
    let a = split(a);
    let b = split(b);
    let mut product = 0;
    for place in 0..SPACING {
        let mut sum = 0;
        for i in 0..SPACING {
            sum ^= a[i] * b[(SPACING + place - i) % SPACING];
        }
        product |= sum & mask(place);
    }
    product
}

/// The bits of `word` at `place` in every five, for each place.
#[inline]
fn split(word: u64) -> [u128; SPACING] {
    core::array::from_fn(|place| u128::from(word & mask(place) as u64))
}

/// The bits at `place` in every five.
const fn mask(place: usize) -> u128 {
    EVERY_FIFTH << place
}
