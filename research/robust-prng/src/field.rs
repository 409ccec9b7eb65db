//! The fields F_2^n: polynomials over F_2 with fewer than n coefficients, modulo an irreducible
//! one of degree n.
//!
//! Coefficients are kept 64 to a word, that of x^0 first and lowest.

/// Words of the largest field's elements.
pub(super) const MAX_WORDS: usize = 12;

/// The coefficients of an element. Fields use as many as they need, the rest are zeros.
pub(super) type Words = [u64; MAX_WORDS];

/// The coefficients of a product before it is reduced.
pub(super) type DoubleWords = [u64; 2 * MAX_WORDS];

/// A field F_2^n, and with n a level of security: see [the table](super). Sealed: these three
/// and no others.
pub trait Field: sealed::Field {}

pub(super) mod sealed {
    use super::MAX_WORDS;

    pub trait Field: Send + Sync + 'static {
        /// n. No multiple of 64.
        const DEGREE: usize;

        /// Exponents of the polynomial's terms below x^n.
        const TAPS: &'static [usize];

        /// m: bits of X'·S that key the generator.
        const KEY_BITS: usize = 128;

        /// Words of an element: an even number, so that a vector holds two.
        const WORDS: usize = 2 * Self::DEGREE.div_ceil(128);

        /// Number of folds of a product. One is enough if a word's replacement lies wholly below it.
        const PASSES: usize = match Self::DEGREE - Self::TAPS[0] {
            64.. => 1,
            gap => (Self::DEGREE - 1).div_ceil(gap),
        };

        /// Compile-time checks of the constants.
        const IS_SOUND: () = {
            assert!(Self::WORDS <= MAX_WORDS);
            assert!(!Self::DEGREE.is_multiple_of(64));
            assert!(Self::PASSES == 1 || Self::DEGREE <= 32);
            assert!(Self::KEY_BITS <= 128 && Self::KEY_BITS < Self::DEGREE);
        };
    }
}

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
