//! Arrays whose elements depend on a key and on their position alone.
//!
//! Element `i` of an array, counted in C order, is made of word `i` of AES-256 in counter mode, or, if 64 bits are
//! too few, of block `i`: so the parts of an array can be made anywhere, in any order and size.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use squall::Engine;
use squall::hazmat::{Aes256, Keystream, Stores};
use zeroize::{Zeroize, Zeroizing};

use crate::buffer::Writable;
use crate::integers::SPACING_53;
use crate::normal::normal;

/// Words that are generated at once.
const BATCH: usize = 512;

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
        Kind::Word => return fill_words_from(keystream, first, out),
        Kind::WideInteger { low, span } => {
            return fill_wide_integers_from(keystream, low, span, first, out);
        }
        _ => {}
    }
    let mut first = first;
    let mut rest = out.as_chunks_mut::<8>().0;
    let mut bytes = [0; 8 * BATCH];
    while !rest.is_empty() {
        // A block has two words.
        let skipped = (first % 2) as usize;
        let count = rest.len().min(BATCH - skipped);
        let (now, later) = rest.split_at_mut(count);
        let used = &mut bytes[..8 * (skipped + count)];
        keystream.fill(first / 2, used, Stores::Cached);
        let words = used.as_chunks::<8>().0[skipped..].iter();
        for (element, word) in now.iter_mut().zip(words) {
            *element = kind.element(u64::from_le_bytes(*word)).to_ne_bytes();
        }
        first = first.wrapping_add(count as u128);
        rest = later;
    }
    bytes.zeroize();
}

/// The same for words, which are the keystream itself.
fn fill_words_from(keystream: &Keystream<Aes256>, first: u128, out: &mut [u8]) {
    // A block has two words, of which the first may not be wanted.
    let (half, blocks) = out.split_at_mut(out.len().min(8 * (first % 2) as usize));
    if !half.is_empty() {
        let mut block = Zeroizing::new([0; 16]);
        keystream.fill(first / 2, &mut block[..], Stores::Cached);
        half.copy_from_slice(&block[8..]);
    }
    keystream.fill(first.div_ceil(2), blocks, Stores::Cached);
    for word in out.as_chunks_mut::<8>().0 {
        *word = u64::from_le_bytes(*word).to_ne_bytes();
    }
}

/// The same for the kind that takes a block an element.
fn fill_wide_integers_from(
    keystream: &Keystream<Aes256>,
    low: u64,
    span: u64,
    mut first: u128,
    out: &mut [u8],
) {
    let mut bytes = [0; 8 * BATCH];
    for elements in out.as_chunks_mut::<8>().0.chunks_mut(BATCH / 2) {
        let used = &mut bytes[..16 * elements.len()];
        keystream.fill(first, used, Stores::Cached);
        for (element, block) in elements.iter_mut().zip(used.as_chunks::<16>().0) {
            let integer = low.wrapping_add(scaled(u128::from_le_bytes(*block), span));
            *element = integer.to_ne_bytes();
        }
        first = first.wrapping_add(elements.len() as u128);
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
#[expect(clippy::too_many_arguments, reason = "squall/_elements.py names them")]
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
