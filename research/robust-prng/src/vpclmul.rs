//! Products in a field by VPCLMULQDQ on 512-bit registers, for one factor that is fixed.
//!
//! Digits are two words each. If s is the sum of s_d·x^(128·d), and Y_d = y·x^(128·d) was reduced
//! beforehand, then s·y is the sum of all s_d·Y_d, which has only 128 coefficients too many. Every
//! lane of a vector multiplies a digit of s by one of Y_d, by Karatsuba's three multiplications
//! instead of four. Secrets stay in registers, so there is nothing to wipe.
//!
//! Nanoseconds a refresh for n = 489, 579 and 705 on an EPYC 9004 (Zen 4), where a multiplication
//! takes two cycles at any width: 20, 29, 31; by `pclmul.rs` 43, 68, 86. With one sum for the
//! words of both factors, as there, it took 22, 29, 32.

use core::arch::x86_64::*;

use super::field::sealed::Field;
use super::field::{MAX_WORDS, Words};
use zeroize::Zeroize as _;

type Vector = __m512i;

/// Words of a vector.
const WIDTH: usize = 8;

/// Digits of a vector.
const LANES: usize = WIDTH / 2;

/// Vectors of a table at most: 6 for the first digits of 6 multiples, 3 for 2 more digits of each.
const MAX_VECTORS: usize = 9;

/// Whether this CPU has VPCLMULQDQ and the parts of AVX-512 that are used, and the field's
/// elements fill a vector.
#[inline]
pub(super) fn is_available<F: Field>() -> bool {
    Shape::of::<F>().digits >= LANES
        && is_x86_feature_detected!("vpclmulqdq")
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
}

/// How a field's digits are laid out in vectors.
#[derive(Clone, Copy)]
struct Shape {
    /// Digits of an element.
    digits: usize,
    /// Those that do not fit in a vector.
    rest: usize,
}

impl Shape {
    const fn of<F: Field>() -> Shape {
        let digits = F::WORDS / 2;
        Shape {
            digits,
            rest: digits.saturating_sub(LANES),
        }
    }

    /// Vectors that hold the rest of every multiple.
    const fn rest_vectors(self) -> usize {
        (self.digits * self.rest).div_ceil(LANES)
    }

    /// The multiple whose digit is in a lane of those vectors, and the number of that digit. Lanes after
    /// the last digit belong to multiples that do not exist.
    const fn in_rest(self, vector: usize, lane: usize) -> (usize, usize) {
        let place = LANES * vector + lane;
        (place / self.rest, LANES + place % self.rest)
    }
}

/// The multiples Y_d of a factor: a vector with the first digits of each, then the rest of all,
/// side by side. Wiped on drop.
///
/// The alignment keeps at least half of the loads within a cache line. Unaligned, a refresh for
/// n = 489 takes up to 3 ns more; an alignment of 64 bytes is no faster, and would give the generator
/// padding, which drops do not wipe.
#[repr(align(32))]
pub(super) struct Table([[u64; WIDTH]; MAX_VECTORS]);

impl Table {
    pub fn zero() -> Self {
        Table([[0; WIDTH]; MAX_VECTORS])
    }

    /// Puts Y_d in its place.
    pub fn set<F: Field>(&mut self, d: usize, multiple: &Words) {
        let shape = Shape::of::<F>();
        let (first, rest) = self.0.split_at_mut(shape.digits);
        first[d].copy_from_slice(&multiple[..WIDTH]);
        for (i, vector) in rest[..shape.rest_vectors()].iter_mut().enumerate() {
            for (lane, digit) in vector.as_chunks_mut::<2>().0.iter_mut().enumerate() {
                let (of, number) = shape.in_rest(i, lane);
                if of == d {
                    digit.copy_from_slice(&multiple[2 * number..][..2]);
                }
            }
        }
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        self.0.as_flattened_mut().zeroize();
    }
}

/// Sets `product` to `s` times the table's factor, reduced.
#[inline]
pub(super) fn multiply<F: Field>(s: &Words, table: &Table, product: &mut Words) {
    assert!(is_available::<F>());
    // SAFETY: `is_available` just found the features.
    unsafe { store_product::<F>(s, table, product) }
}

/// Multiplies `s` by the table's factor and adds `bytes`, no more than an element's.
#[inline]
pub(super) fn multiply_add<F: Field>(s: &mut Words, table: &Table, bytes: &[u8]) {
    assert!(is_available::<F>());
    // SAFETY: `is_available` just found the features.
    unsafe { multiply_add_digits::<F>(s, table, bytes) }
}

#[target_feature(enable = "vpclmulqdq,avx512f")]
fn store_product<F: Field>(s: &Words, table: &Table, product: &mut Words) {
    store::<F>(product, multiply_digits::<F>(s, table));
}

#[target_feature(enable = "vpclmulqdq,avx512f,avx512bw")]
fn multiply_add_digits<F: Field>(s: &mut Words, table: &Table, bytes: &[u8]) {
    let product = multiply_digits::<F>(s, table);
    let bytes = load_bytes::<F>(bytes);
    store::<F>(s, [xor(product[0], bytes[0]), xor(product[1], bytes[1])]);
}

#[inline]
#[target_feature(enable = "vpclmulqdq,avx512f")]
fn multiply_digits<F: Field>(s: &Words, table: &Table) -> [Vector; 2] {
    let shape = const { Shape::of::<F>() };
    let digits = load(s);
    let (first, rest) = table.0.split_at(shape.digits);
    let mut high = Sums::zero();
    for (i, vector) in rest[..shape.rest_vectors()].iter().enumerate() {
        high.add_products(spread(digits, |lane| shape.in_rest(i, lane).0), vector);
    }
    high.add_lanes(shape.rest);
    let mut low = Sums::zero();
    for (d, vector) in first.iter().enumerate() {
        low.add_products(spread(digits, |_| d), vector);
    }
    reduce::<F>(combine(low, high))
}

/// Products of digits, by what they are multiplied by: 1, x^128, and x^64 with the others added.
struct Sums {
    low: Vector,
    high: Vector,
    middle: Vector,
}

impl Sums {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn zero() -> Sums {
        let zero = _mm512_setzero_si512();
        Sums {
            low: zero,
            high: zero,
            middle: zero,
        }
    }

    #[inline]
    #[target_feature(enable = "vpclmulqdq,avx512f")]
    fn add_products(&mut self, a: Vector, b: &[u64; WIDTH]) {
        // SAFETY: 64 bytes are readable behind the reference; the load needs no alignment.
        let b = unsafe { _mm512_loadu_si512(b.as_ptr().cast()) };
        self.low = xor(self.low, _mm512_clmulepi64_epi128::<0x00>(a, b));
        self.high = xor(self.high, _mm512_clmulepi64_epi128::<0x11>(a, b));
        let middle = _mm512_clmulepi64_epi128::<0x00>(add_words(a), add_words(b));
        self.middle = xor(self.middle, middle);
    }

    /// Adds the lanes that belong to the same digit, where there are `rest`: at most 2.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn add_lanes(&mut self, rest: usize) {
        for sum in [&mut self.low, &mut self.high, &mut self.middle] {
            *sum = xor(*sum, _mm512_shuffle_i64x2::<0b01_00_11_10>(*sum, *sum));
            if rest == 1 {
                *sum = xor(*sum, _mm512_shuffle_i64x2::<0b10_11_00_01>(*sum, *sum));
            }
            *sum = _mm512_maskz_mov_epi64((1 << (2 * rest)) - 1, *sum);
        }
    }
}

/// Adds the second word of each digit to the first.
#[inline]
#[target_feature(enable = "avx512f")]
fn add_words(digits: Vector) -> Vector {
    xor(digits, _mm512_shuffle_epi32::<0b11_10_11_10>(digits))
}

/// The words of a product.
#[inline]
#[target_feature(enable = "avx512f")]
fn combine(low: Sums, high: Sums) -> [Vector; 2] {
    let zero = _mm512_setzero_si512();
    let middle = |sums: &Sums| xor(sums.middle, xor(sums.low, sums.high));
    let middles = [middle(&low), middle(&high)];
    let up = |below, above, words| words_from(below, above, WIDTH - words);
    [
        xor(low.low, xor(up(zero, middles[0], 1), up(zero, low.high, 2))),
        xor(
            high.low,
            xor(up(middles[0], middles[1], 1), up(low.high, high.high, 2)),
        ),
    ]
}

/// Takes a product modulo the field's polynomial: replaces the 128 coefficients from n on by what
/// x^n is, the polynomial's lower terms.
#[inline]
#[target_feature(enable = "avx512f")]
fn reduce<F: Field>([low, high]: [Vector; 2]) -> [Vector; 2] {
    // What they are replaced by lies below n, and in the first vector.
    const {
        let end = F::TAPS[0] + 128;
        assert!(F::WORDS < WIDTH || (end <= F::DEGREE && end <= 64 * WIDTH));
    }
    let zero = _mm512_setzero_si512();
    let (start, bits) = (F::DEGREE / 64, F::DEGREE % 64);
    let above = xor(
        shift_right(words_from(low, high, start), bits),
        shift_left(words_from(low, high, start + 1), 64 - bits),
    );
    let mut folded = zero;
    for &tap in F::TAPS {
        let (words, bits) = (tap / 64, tap % 64);
        let up = |words| words_from(zero, above, WIDTH - words);
        folded = xor(folded, shift_left(up(words), bits));
        if bits != 0 {
            folded = xor(folded, shift_right(up(words + 1), 64 - bits));
        }
    }
    let [mask_low, mask_high] = const { masks::<F>() };
    [
        xor(_mm512_and_si512(low, vector(mask_low)), folded),
        _mm512_and_si512(high, vector(mask_high)),
    ]
}

/// What an element's n coefficients leave of two vectors.
const fn masks<F: Field>() -> [[u64; WIDTH]; 2] {
    let mut masks = [[0; WIDTH]; 2];
    let words = masks.as_flattened_mut();
    let mut i = 0;
    while i < F::DEGREE / 64 {
        words[i] = u64::MAX;
        i += 1;
    }
    words[i] = (1 << (F::DEGREE % 64)) - 1;
    masks
}

/// The digits whose numbers `number` gives, lane by lane.
#[inline]
#[target_feature(enable = "avx512f")]
fn spread([low, high]: [Vector; 2], number: impl Fn(usize) -> usize) -> Vector {
    pick(low, high, |i| 2 * number(i / 2) + i % 2)
}

/// The words of two vectors from `first` on. The last, which is repeated behind them, must be 0
/// if that is reached.
#[inline]
#[target_feature(enable = "avx512f")]
fn words_from(low: Vector, high: Vector, first: usize) -> Vector {
    pick(low, high, |i| (first + i).min(2 * WIDTH - 1))
}

/// Of the 16 words of two vectors, those whose numbers `number` gives.
#[inline]
#[target_feature(enable = "avx512f")]
fn pick(low: Vector, high: Vector, number: impl Fn(usize) -> usize) -> Vector {
    let numbers = core::array::from_fn(|i| number(i) as u64);
    _mm512_permutex2var_epi64(low, vector(numbers), high)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn vector(words: [u64; WIDTH]) -> Vector {
    // SAFETY: 64 bytes are readable behind the reference; the load needs no alignment.
    unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn shift_left(words: Vector, bits: usize) -> Vector {
    _mm512_sllv_epi64(words, _mm512_set1_epi64(bits as i64))
}

#[inline]
#[target_feature(enable = "avx512f")]
fn shift_right(words: Vector, bits: usize) -> Vector {
    _mm512_srlv_epi64(words, _mm512_set1_epi64(bits as i64))
}

#[inline]
#[target_feature(enable = "avx512f")]
fn xor(a: Vector, b: Vector) -> Vector {
    _mm512_xor_si512(a, b)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(s: &Words) -> [Vector; 2] {
    const { assert!(MAX_WORDS == WIDTH + 4) };
    let s = s.as_ptr();
    // SAFETY: `s` is 8 and 4 words long; the loads need no alignment.
    unsafe {
        [
            _mm512_loadu_si512(s.cast()),
            _mm512_zextsi256_si512(_mm256_loadu_si256(s.add(WIDTH).cast())),
        ]
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store<F: Field>(s: &mut Words, [low, high]: [Vector; 2]) {
    const { assert!(MAX_WORDS == WIDTH + 4) };
    let s = s.as_mut_ptr();
    // SAFETY: `s` is 8 and 4 words long; the stores need no alignment.
    unsafe {
        _mm512_storeu_si512(s.cast(), low);
        if F::WORDS > WIDTH {
            _mm256_storeu_si256(s.add(WIDTH).cast(), _mm512_castsi512_si256(high));
        }
    }
}

/// `bytes` with zeros behind them.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn load_bytes<F: Field>(bytes: &[u8]) -> [Vector; 2] {
    let (low, high) = bytes.split_at(bytes.len().min(8 * WIDTH));
    if F::WORDS > WIDTH {
        [load_part(low), load_part(high)]
    } else {
        [load_part(low), _mm512_setzero_si512()]
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn load_part(bytes: &[u8]) -> Vector {
    assert!(bytes.len() <= 8 * WIDTH);
    let mask = ((1u128 << bytes.len()) - 1) as u64;
    // SAFETY: the mask selects the bytes of `bytes` and no others.
    unsafe { _mm512_maskz_loadu_epi8(mask, bytes.as_ptr().cast()) }
}
