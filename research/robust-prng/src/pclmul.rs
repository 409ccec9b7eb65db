//! Products of polynomials over F_2 by PCLMULQDQ, which multiplies two words of 64 coefficients.
//!
//! Digits are two words each. For every digit of the product, all pairs that meet there are
//! multiplied, by Karatsuba's three multiplications instead of four. Three sums and two factors
//! are in flight, so sums stay in registers, and there is nothing to wipe.
//!
//! A product for n = 489 takes 29 ns on an EPYC 9004 (Zen 4). Rejected alternatives: four multiplications per
//! pair (36); Karatsuba on all pairs of words at once, in registers and on the stack (24), and with the stack
//! wiped (32).

use core::arch::x86_64::*;

use super::portable::{DoubleWords, WORDS, Words};

/// Whether this CPU has PCLMULQDQ.
#[inline]
pub(super) fn is_available() -> bool {
    is_x86_feature_detected!("pclmulqdq")
}

/// Sets `product` to `a`·`b`, not reduced.
#[inline]
pub(super) fn multiply(a: &Words, b: &Words, product: &mut DoubleWords) {
    assert!(is_available());
    // SAFETY: the assertion has just found PCLMULQDQ.
    unsafe { multiply_digits(a, b, product) }
}

#[target_feature(enable = "pclmulqdq")]
fn multiply_digits(a: &Words, b: &Words, product: &mut DoubleWords) {
    let digits = WORDS / 2;
    let (a, b) = (a.as_chunks().0, b.as_chunks().0);
    let product = product.as_chunks_mut().0;
    let mut above = _mm_setzero_si128();
    for k in 0..2 * digits - 1 {
        let mut low = _mm_setzero_si128();
        let mut high = _mm_setzero_si128();
        let mut sums = _mm_setzero_si128();
        // Start from 0, not from the first digit that has a partner. Then the compiler unrolls the
        // loops, which halves the time.
        for i in 0..digits {
            if i <= k && k - i < digits {
                let (x, y) = (load(&a[i]), load(&b[k - i]));
                low = add(low, _mm_clmulepi64_si128::<0x00>(x, y));
                high = add(high, _mm_clmulepi64_si128::<0x11>(x, y));
                // The sum of x's words, and that of y's.
                let both = add(_mm_unpacklo_epi64(x, y), _mm_unpackhi_epi64(x, y));
                sums = add(sums, _mm_clmulepi64_si128::<0x01>(both, both));
            }
        }
        let middle = add(sums, add(low, high));
        let digit = add(add(low, above), _mm_slli_si128::<8>(middle));
        store(&mut product[k], digit);
        above = add(high, _mm_srli_si128::<8>(middle));
    }
    store(&mut product[2 * digits - 1], above);
}

#[inline]
#[target_feature(enable = "sse2")]
fn add(a: __m128i, b: __m128i) -> __m128i {
    _mm_xor_si128(a, b)
}

#[inline]
#[target_feature(enable = "sse2")]
fn load(digit: &[u64; 2]) -> __m128i {
    // SAFETY: 16 bytes are readable behind the reference; the load needs no alignment.
    unsafe { _mm_loadu_si128(digit.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "sse2")]
fn store(place: &mut [u64; 2], digit: __m128i) {
    // SAFETY: 16 bytes are writable behind the reference; the store needs no alignment.
    unsafe { _mm_storeu_si128(place.as_mut_ptr().cast(), digit) }
}
