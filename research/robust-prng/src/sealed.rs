//! What a field is, for the code that multiplies: its numbers, and the words of its elements. No other crate can add
//! fields.

/// Words of the largest field's elements.
pub(super) const MAX_WORDS: usize = 12;

/// The coefficients of an element. Fields use as many as they need, the rest are zeros.
pub(super) type Words = [u64; MAX_WORDS];

/// The coefficients of a product before it is reduced.
pub(super) type DoubleWords = [u64; 2 * MAX_WORDS];

/// A field's numbers.
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
