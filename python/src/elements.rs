//! The arrays of `squall.dask`, whose elements depend on a key and on their position alone.
//!
//! Element `i` of an array, counted in C order, is made of word `i` of AES-256 in counter mode, or, if 64 bits are
//! too few, of block `i`: so the parts of an array can be made anywhere, in any order and size. A permutation is a
//! Feistel network, of which no part is kept.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use squall::Engine;
use squall::hazmat::{Aes256, Keystream, Stores};
use zeroize::{Zeroize, Zeroizing};

use crate::bytes::Writable;

/// Bytes that are generated at once.
const BATCH: usize = 4096;

/// Length of a block of AES, in bytes.
pub const BLOCK: usize = 16;

/// 2^-53: random numbers from 0 to below 1 are multiples of it.
const SPACING_53: f64 = 1.0 / (1u64 << 53) as f64;

/// How a word, or a block, becomes an element of eight bytes.
#[derive(Clone, Copy)]
pub enum Kind {
    Word,
    Uniform,
    Normal,
    /// An integer below `span`, plus `low`: the upper half of the product with `span`, or the word itself
    /// for a span of 2^64, given as 0.
    Integer {
        low: u64,
        span: u64,
    },
    /// The same of a block, which is a number of 128 bits, for spans that are large and no power of two.
    WideInteger {
        low: u64,
        span: u64,
    },
}

impl Kind {
    fn of(kind: &str, low: u64, span: u64) -> PyResult<Kind> {
        match kind {
            "word" => Ok(Kind::Word),
            "uniform" => Ok(Kind::Uniform),
            "normal" => Ok(Kind::Normal),
            "integer" => Ok(Kind::Integer { low, span }),
            "wide integer" => Ok(Kind::WideInteger { low, span }),
            _ => Err(PyValueError::new_err(format!(
                "there is no kind of element named {kind:?}"
            ))),
        }
    }

    /// The element that a word gives.
    #[inline(always)]
    pub fn element(self, word: u64) -> u64 {
        match self {
            Kind::Word => word,
            Kind::Uniform => ((word >> 11) as f64 * SPACING_53).to_bits(),
            Kind::Normal => normal(word).to_bits(),
            Kind::Integer { low, span: 0 } => low.wrapping_add(word),
            Kind::Integer { low, span } => low.wrapping_add(upper_half(word, span)),
            Kind::WideInteger { .. } => unreachable!("it takes a block"),
        }
    }
}

/// The upper half of the product of two words.
#[inline(always)]
fn upper_half(one: u64, other: u64) -> u64 {
    ((u128::from(one) * u128::from(other)) >> 64) as u64
}

/// The product of `block` and `span` without its lower 128 bits.
#[inline(always)]
fn scaled(block: u128, span: u64) -> u64 {
    let lower = upper_half(block as u64, span);
    (((block >> 64) * u128::from(span) + u128::from(lower)) >> 64) as u64
}

/// Fills `out` with the elements from number `first` on.
pub fn fill_elements_from(keystream: &Keystream<Aes256>, kind: Kind, first: u128, out: &mut [u8]) {
    match kind {
        Kind::Word => {
            // Words are the keystream itself, and a block has two.
            let skipped = 8 * (first % 2) as usize;
            fill_bytes_from(keystream, first / 2, skipped, out, Stores::Cached);
            for word in out.as_chunks_mut::<8>().0 {
                *word = u64::from_le_bytes(*word).to_ne_bytes();
            }
        }
        Kind::WideInteger { low, span } => fill_with::<16>(keystream, first, out, |block| {
            low.wrapping_add(scaled(u128::from_le_bytes(block), span))
        }),
        _ => fill_with::<8>(keystream, first, out, |word| {
            kind.element(u64::from_le_bytes(word))
        }),
    }
}

/// Fills `out` with the bytes of the keystream from byte `skipped` of a block on.
pub fn fill_bytes_from(
    keystream: &Keystream<Aes256>,
    block: u128,
    skipped: usize,
    out: &mut [u8],
    stores: Stores,
) {
    let (head, rest) = out.split_at_mut(out.len().min((BLOCK - skipped) % BLOCK));
    if !head.is_empty() {
        let mut bytes = Zeroizing::new([0; BLOCK]);
        keystream.fill(block, &mut bytes[..], Stores::Cached);
        head.copy_from_slice(&bytes[skipped..][..head.len()]);
    }
    keystream.fill(block.wrapping_add(u128::from(skipped != 0)), rest, stores);
}

/// Fills `out` with what `element` makes of every `N` bytes of the keystream, a word or a block, from number `first` on.
fn fill_with<const N: usize>(
    keystream: &Keystream<Aes256>,
    mut first: u128,
    out: &mut [u8],
    element: impl Fn([u8; N]) -> u64,
) {
    let in_a_block = (BLOCK / N) as u128;
    let mut rest = out.as_chunks_mut::<8>().0;
    let mut bytes = [0; BATCH];
    while !rest.is_empty() {
        let skipped = (first % in_a_block) as usize;
        let count = rest.len().min(BATCH / N - skipped);
        let (now, later) = rest.split_at_mut(count);
        let used = &mut bytes[..N * (skipped + count)];
        keystream.fill(first / in_a_block, used, Stores::Cached);
        for (place, drawn) in now.iter_mut().zip(&used.as_chunks::<N>().0[skipped..]) {
            *place = element(*drawn).to_ne_bytes();
        }
        first = first.wrapping_add(count as u128);
        rest = later;
    }
    bytes.zeroize();
}

/// The keystream of a key from Python.
pub fn keystream(key: &[u8]) -> PyResult<Keystream<Aes256>> {
    let key = key.try_into().map_err(|_| {
        PyValueError::new_err(format!("the key has {} bytes: AES-256 takes 32", key.len()))
    })?;
    Keystream::new(key, Engine::best_aes())
        .map_err(|error| PyValueError::new_err(error.to_string()))
}

/// A block of an array: a box of elements.
struct Block {
    /// The shape of the whole array.
    whole: Vec<u64>,
    /// Where the block begins, and its shape.
    start: Vec<u64>,
    shape: Vec<u64>,
}

impl Block {
    /// Calls `each` with the position of the first element of every run along the last axis, in C order.
    fn runs(&self, mut each: impl FnMut(u64)) {
        let outer = self.shape.len() - 1;
        let mut index = vec![0; outer];
        loop {
            let position = (0..outer).fold(0, |position, axis| {
                position * self.whole[axis] + self.start[axis] + index[axis]
            });
            each(position * self.whole[outer] + self.start[outer]);
            let Some(axis) = (0..outer)
                .rev()
                .find(|&axis| index[axis] + 1 < self.shape[axis])
            else {
                return;
            };
            index[axis] += 1;
            index[axis + 1..].fill(0);
        }
    }

    fn check(&self, bytes: usize) -> Result<(), &'static str> {
        let axes = self.whole.len();
        if axes == 0 || self.start.len() != axes || self.shape.len() != axes {
            return Err("shapes and start must have the same number of axes, at least one");
        }
        let product = |lengths: &[u64]| lengths.iter().try_fold(1u64, |all, &n| all.checked_mul(n));
        if product(&self.whole).is_none() {
            return Err("the array has more than 2**64 elements");
        }
        let mut axis = 0..axes;
        if !axis.all(|axis| {
            let end = self.start[axis].checked_add(self.shape[axis]);
            end.is_some_and(|end| end <= self.whole[axis])
        }) {
            return Err("the block is not inside the array");
        }
        if product(&self.shape).and_then(|count| count.checked_mul(8)) != Some(bytes as u64) {
            return Err("the buffer is not as long as the block");
        }
        Ok(())
    }
}

/// Fill a buffer of eight bytes an element with a block of an array.
#[pyfunction]
#[pyo3(signature = (buffer, key, kind, whole, start, shape, low=0, span=0))]
#[expect(clippy::too_many_arguments, reason = "squall/dask.py names them")]
pub fn fill_elements(
    py: Python<'_>,
    buffer: &Bound<'_, PyAny>,
    key: &[u8],
    kind: &str,
    whole: Vec<u64>,
    start: Vec<u64>,
    shape: Vec<u64>,
    low: u64,
    span: u64,
) -> PyResult<()> {
    let kind = Kind::of(kind, low, span)?;
    let mut buffer = Writable::borrow(buffer)?;
    let block = Block {
        whole,
        start,
        shape,
    };
    block.check(buffer.len()).map_err(PyValueError::new_err)?;
    if buffer.len() == 0 {
        return Ok(());
    }
    let keystream = keystream(key)?;
    let run = 8 * block.shape[block.shape.len() - 1] as usize;
    buffer.write_detached(py, |bytes| {
        let mut parts = bytes.chunks_exact_mut(run);
        block.runs(|position| {
            let part = parts.next().expect("a part for each run");
            fill_elements_from(&keystream, kind, position.into(), part);
        });
    });
    Ok(())
}

/// Rounds of the permutation's Feistel network.
const ROUNDS: u32 = 10;

/// A permutation of the numbers below `count`, chosen by a key.
///
/// A Feistel network with AES-256 as round function permutes the numbers of an even number of bits. Walking on
/// until a number is below `count` permutes those below it (Black and Rogaway, "Ciphers with Arbitrary Finite
/// Domains", 2002). Such a network is always an even permutation. Where `count` is a power of four there is no walk
/// that changes that, so a bit of the key decides whether 0 and 1 are exchanged first.
struct Permutation {
    keystream: Keystream<Aes256>,
    count: u64,
    /// Bits of each half.
    half: u32,
    exchanges: bool,
}

impl Permutation {
    fn new(key: &[u8], count: u64) -> PyResult<Permutation> {
        let bits = u64::BITS - count.saturating_sub(1).leading_zeros();
        let mut permutation = Permutation {
            keystream: keystream(key)?,
            count,
            half: bits.div_ceil(2).max(1),
            exchanges: false,
        };
        permutation.exchanges = count.is_power_of_two()
            && count.trailing_zeros().is_multiple_of(2)
            && permutation.output(ROUNDS, 0) % 2 == 1;
        Ok(permutation)
    }

    /// 64 bits for a half of a number in a round; those after the last round are for other purposes.
    fn output(&self, round: u32, half: u64) -> u64 {
        let mut output = [0; 16];
        // Depends on the count too, or the permutations of n and of n + 1 numbers would be nearly the same.
        let input = u128::from(self.count) << 64 | u128::from(round) << 56 | u128::from(half);
        self.keystream.fill(input, &mut output, Stores::Cached);
        u128::from_le_bytes(output) as u64
    }

    /// Where a number below `count` goes.
    fn permute(&self, number: u64) -> u64 {
        let mut number = number;
        if self.exchanges && number < 2 {
            number ^= 1;
        }
        loop {
            number = self.feistel(number);
            if number < self.count {
                return number;
            }
        }
    }

    /// Where a number of `2 * half` bits goes.
    fn feistel(&self, number: u64) -> u64 {
        let mask = (1u64 << self.half) - 1;
        let (mut left, mut right) = (number >> self.half, number & mask);
        for round in 0..ROUNDS {
            (left, right) = (right, left ^ (self.output(round, right) & mask));
        }
        left << self.half | right
    }
}

/// Fill a buffer of unsigned integers of 64 bits with the places where `first` and the numbers after it go.
#[pyfunction]
pub fn permute(
    py: Python<'_>,
    buffer: &Bound<'_, PyAny>,
    key: &[u8],
    count: u64,
    first: u64,
) -> PyResult<()> {
    let mut buffer = Writable::borrow(buffer)?;
    let end = first.checked_add(buffer.len() as u64 / 8);
    if end.is_none_or(|end| end > count) {
        return Err(PyValueError::new_err("the block is not inside the array"));
    }
    let permutation = Permutation::new(key, count)?;
    buffer.write_detached(py, |bytes| {
        for (number, out) in (first..).zip(bytes.as_chunks_mut::<8>().0) {
            *out = permutation.permute(number).to_ne_bytes();
        }
    });
    Ok(())
}

/// A number of the normal distribution: the quantile of one of 2^52 probabilities, exact and symmetric about 1/2.
pub fn normal(word: u64) -> f64 {
    normal_quantile(((word >> 12) as f64 + 0.5) * (2.0 * SPACING_53))
}

/// Return what an array of kind `normal` has where its word is `word`: for tests, which reach the tails by it.
#[pyfunction]
pub fn normal_of_word(word: u64) -> f64 {
    normal(word)
}

/// The quantile function of the normal distribution: Wichura, "Algorithm AS 241: The Percentage Points of
/// the Normal Distribution" (1988), PPND16, to about one part in 10^16. The logarithm is the crate `libm`'s, so
/// the result is the same on every machine.
fn normal_quantile(p: f64) -> f64 {
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        let r = 0.180625 - q * q;
        return q * ratio(r, &CENTRE);
    }
    let tail = if q < 0.0 { p } else { 1.0 - p };
    let r = libm::sqrt(-libm::log(tail));
    let size = if r <= 5.0 {
        ratio(r - 1.6, &MIDDLE)
    } else {
        ratio(r - 5.0, &FAR)
    };
    if q < 0.0 { -size } else { size }
}

/// Coefficients of a numerator and a denominator, from the constant term on.
type Ratio = [[f64; 8]; 2];

fn ratio(x: f64, [above, below]: &Ratio) -> f64 {
    let polynomial =
        |coefficients: &[f64; 8]| coefficients.iter().rev().fold(0.0, |sum, c| sum * x + c);
    polynomial(above) / polynomial(below)
}

#[rustfmt::skip]
const CENTRE: Ratio = [
    [
        3.387_132_872_796_366_5, 133.141_667_891_784_38, 1_971.590_950_306_551_3, 13_731.693_765_509_46,
        45_921.953_931_549_87, 67_265.770_927_008_7, 33_430.575_583_588_13, 2_509.080_928_730_122_7,
    ],
    [
        1.0, 42.313_330_701_600_91, 687.187_007_492_057_9, 5_394.196_021_424_751,
        21_213.794_301_586_597, 39_307.895_800_092_71, 28_729.085_735_721_943, 5_226.495_278_852_545,
    ],
];

#[rustfmt::skip]
const MIDDLE: Ratio = [
    [
        1.423_437_110_749_683_5, 4.630_337_846_156_546, 5.769_497_221_460_691, 3.647_848_324_763_204_5,
        1.270_458_252_452_368_4, 0.241_780_725_177_450_6, 0.022_723_844_989_269_184, 7.745_450_142_783_414e-4,
    ],
    [
        1.0, 2.053_191_626_637_759, 1.676_384_830_183_803_8, 0.689_767_334_985_1,
        0.148_103_976_427_480_08, 0.015_198_666_563_616_457, 5.475_938_084_995_345e-4, 1.050_750_071_644_416_9e-9,
    ],
];

#[rustfmt::skip]
const FAR: Ratio = [
    [
        6.657_904_643_501_103, 5.463_784_911_164_114, 1.784_826_539_917_291_3, 0.296_560_571_828_504_87,
        0.026_532_189_526_576_124, 0.001_242_660_947_388_078_4, 2.711_555_568_743_487_6e-5, 2.010_334_399_292_288_1e-7,
    ],
    [
        1.0, 0.599_832_206_555_888, 0.136_929_880_922_735_8, 0.014_875_361_290_850_615,
        7.868_691_311_456_133e-4, 1.846_318_317_510_054_8e-5, 1.421_511_758_316_446e-7, 2.044_263_103_389_939_8e-15,
    ],
];
