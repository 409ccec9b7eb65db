//! The words of `squall.random.AES256`: AES-256 in counter mode, reproducible and seekable.

use core::cell::UnsafeCell;
use core::convert::Infallible;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule};
use squall::hazmat::{Aes256, Keystream, Stores};
use squall::internal::{below_u32, below_u64};
use zeroize::{Zeroize, Zeroizing, optimization_barrier};

use crate::bit_generator::{Words, connect};
use crate::bytes::{NewBytes, Writable};
use crate::elements::{Kind, fill_elements_from, keystream};
use crate::no_randomness;

/// Bytes that are generated at once.
const BUFFER: usize = 4096;
/// Words in the buffer.
const CAPACITY: usize = BUFFER / size_of::<u64>();
/// Up to this many bytes come from the buffer: passing it costs some microseconds, because it is made anew then.
const FROM_BUFFER: usize = 4 * BUFFER;
/// Blocks in the buffer.
const BLOCKS: u128 = (BUFFER / 16) as u128;

/// Word `i`, little-endian, is bytes `8 i` to `8 i + 7` of the keystream. There are 2^128.
///
/// It is made without a secret and set in its place on the heap, because a move would leave a copy behind.
#[repr(C)]
pub struct State {
    /// First, where the tests look for it.
    key: Zeroizing<[u8; 32]>,
    /// `None` only until the first key.
    keystream: Option<Keystream<Aes256>>,
    /// The part of the stream that `at` is in.
    part: u128,
    /// The next word of that part.
    at: usize,
    buffer: [u8; BUFFER],
    /// The upper half of a word whose lower half was served.
    half: Option<u32>,
}

impl State {
    pub fn empty() -> State {
        State {
            key: Zeroizing::new([0; 32]),
            keystream: None,
            part: 0,
            at: CAPACITY,
            buffer: [0; BUFFER],
            half: None,
        }
    }

    /// Begins at word 0 under `key`; an error changes nothing.
    fn set_key(&mut self, key: &[u8]) -> PyResult<()> {
        self.keystream = Some(keystream(key)?);
        self.key.copy_from_slice(key);
        self.half = None;
        self.move_to(0);
        Ok(())
    }

    /// Begins at word 0 under a new random key, which is nowhere else.
    pub fn draw_key(&mut self) -> PyResult<()> {
        squall::try_fill(&mut self.key[..]).map_err(no_randomness)?;
        self.keystream = Some(keystream(&self.key[..])?);
        self.move_to(0);
        Ok(())
    }

    pub fn has_key(&self) -> bool {
        self.keystream.is_some()
    }

    /// Erases the key and its words. Until the next key, `take` returns `None`.
    pub fn forget(&mut self) {
        self.key.zeroize();
        self.keystream = None;
        self.at = CAPACITY;
        self.half.zeroize();
        // In large steps, which `zeroize` does not take.
        self.buffer.fill(0);
        optimization_barrier(&self.buffer);
    }

    /// The next word of the buffer, if any is left.
    #[inline]
    pub fn take(&mut self) -> Option<u64> {
        let word = self.buffer.as_chunks().0.get(self.at)?;
        self.at += 1;
        Some(u64::from_le_bytes(*word))
    }

    fn keystream(&self) -> &Keystream<Aes256> {
        self.keystream.as_ref().expect("`new` sets a key")
    }

    fn generate(&mut self, part: u128) {
        self.part = part;
        let block = part.wrapping_mul(BLOCKS);
        let keystream = self.keystream.as_ref().expect("`new` sets a key");
        keystream.fill(block, &mut self.buffer, Stores::Cached);
    }

    /// The number of the next word.
    fn position(&self) -> u128 {
        (self.part * CAPACITY as u128).wrapping_add(self.at as u128)
    }

    /// Moves to this word; a half of another word stays.
    fn move_to(&mut self, position: u128) {
        self.at = (position % CAPACITY as u128) as usize;
        self.generate(position / CAPACITY as u128);
    }

    /// Fills `out` with words of 32 bits, at least one, of which the last may be cut short.
    fn fill(&mut self, out: &mut [u8]) {
        if out.is_empty() {
            self.next_u32();
            return;
        }
        let (head, rest) = out.split_at_mut(out.len().min(if self.half.is_some() { 4 } else { 0 }));
        if !head.is_empty() {
            let word = self.next_u32().to_le_bytes();
            head.copy_from_slice(&word[..head.len()]);
        }
        let (words, tail) = rest.as_chunks_mut::<8>();
        self.fill_words(Kind::Word, words.as_flattened_mut());
        for part in tail.chunks_mut(4) {
            let word = self.next_u32().to_le_bytes();
            part.copy_from_slice(&word[..part.len()]);
        }
    }

    /// Fills `out`, whole words, with the next words as elements of this kind.
    fn fill_words(&mut self, kind: Kind, out: &mut [u8]) {
        if out.len() <= FROM_BUFFER {
            let mut rest = out.as_chunks_mut::<8>().0;
            while !rest.is_empty() {
                if self.at == CAPACITY {
                    self.move_to(self.position());
                }
                let words = &self.buffer.as_chunks::<8>().0[self.at..];
                let (now, later) = rest.split_at_mut(rest.len().min(words.len()));
                for (place, word) in now.iter_mut().zip(words) {
                    *place = kind.element(u64::from_le_bytes(*word)).to_ne_bytes();
                }
                self.at += now.len();
                rest = later;
            }
            return;
        }
        let position = self.position();
        let end = position.wrapping_add(out.len() as u128 / 8);
        // After the last word comes the first.
        let first = if end < position { 8 * end as usize } else { 0 };
        let (run, wrapped) = out.split_at_mut(out.len() - first);
        fill_elements_from(self.keystream(), kind, position, run);
        fill_elements_from(self.keystream(), kind, 0, wrapped);
        self.move_to(end);
    }
}

impl Drop for State {
    fn drop(&mut self) {
        self.forget();
    }
}

impl Words for State {
    #[inline]
    fn next_u64(&mut self) -> u64 {
        if self.at == CAPACITY {
            self.move_to(self.position());
        }
        self.take().expect("a new part")
    }

    /// The lower half of a word, then its upper half.
    #[inline]
    fn next_u32(&mut self) -> u32 {
        if let Some(half) = self.half.take() {
            return half;
        }
        let word = self.next_u64();
        self.half = Some((word >> 32) as u32);
        word as u32
    }
}

/// Fills `out`, 64-bit integers in the machine's byte order, with numbers from `low` to `low + width`: the same as
/// `numpy.random.Generator.integers` makes of the words of a bit generator, by words of 32 bits for ranges that fit
/// into them (numpy/random/src/distributions/distributions.c, `random_bounded_uint64_fill`).
fn fill_integers(words: &mut State, low: i64, width: u64, out: &mut [u8]) {
    let places = out.as_chunks_mut::<8>().0.iter_mut();
    let at = |distance: u64| (low as u64).wrapping_add(distance).to_ne_bytes();
    match (u32::try_from(width), width.checked_add(1)) {
        (Ok(u32::MAX), _) => places.for_each(|place| *place = at(words.next_u32().into())),
        (Ok(width), _) => places.for_each(|place| {
            let Ok(distance) = below_u32(width + 1, || Ok::<_, Infallible>(words.next_u32()));
            *place = at(distance.into());
        }),
        (Err(_), None) => places.for_each(|place| *place = at(words.next_u64())),
        (Err(_), Some(bound)) => places.for_each(|place| {
            let Ok(distance) = below_u64(bound, || Ok::<_, Infallible>(words.next_u64()));
            *place = at(distance);
        }),
    }
}

/// The words of `squall.random.AES256`.
#[pyclass(frozen, module = "squall._squall")]
pub struct SeededWords(Box<UnsafeCell<State>>);

// SAFETY: `squall.random.AES256` calls every method with NumPy's lock held, which by the promise of `connect`
// guards all that draw from it.
unsafe impl Sync for SeededWords {}

impl SeededWords {
    #[expect(clippy::mut_from_ref, reason = "NumPy's lock makes it the only one")]
    fn state(&self) -> &mut State {
        // SAFETY: the caller is a method, and so has NumPy's lock.
        unsafe { &mut *self.0.get() }
    }
}

#[pymethods]
impl SeededWords {
    /// Words for the bit generator of this capsule, whose lock must be held in each call: under `key`, 32 bytes, or
    /// under a random key that Python never sees.
    #[new]
    #[pyo3(signature = (capsule, key=None))]
    fn new<'py>(
        capsule: &Bound<'py, PyCapsule>,
        key: Option<&[u8]>,
    ) -> PyResult<Bound<'py, SeededWords>> {
        let words = SeededWords(Box::new(UnsafeCell::new(State::empty())));
        match key {
            Some(key) => words.state().set_key(key)?,
            None => words.state().draw_key()?,
        }
        let owner = Bound::new(capsule.py(), words)?;
        // SAFETY: the words stay in their box as long as the owner lives.
        unsafe { connect(capsule, owner.get().0.get(), owner.clone().into_any())? };
        Ok(owner)
    }

    /// The key, the number of the next word, and the upper half of the last word, if it is next.
    fn get<'py>(&self, py: Python<'py>) -> (Bound<'py, PyBytes>, u128, Option<u32>) {
        let state = self.state();
        (
            PyBytes::new(py, &state.key[..]),
            state.position(),
            state.half,
        )
    }

    fn set(&self, key: &[u8], position: u128, half: Option<u32>) -> PyResult<()> {
        let state = self.state();
        state.set_key(key)?;
        state.move_to(position);
        state.half = half;
        Ok(())
    }

    /// Moves to the word of this number; an unused half of another word is discarded.
    fn seek(&self, position: u128) {
        let state = self.state();
        state.half = None;
        state.move_to(position);
    }

    /// Fills a buffer of `float64` with the next numbers from 0 to below 1.
    fn uniforms(&self, py: Python<'_>, buffer: &Bound<'_, PyAny>) -> PyResult<()> {
        Writable::borrow(buffer)?.write(py, |out| self.state().fill_words(Kind::Uniform, out));
        Ok(())
    }

    /// Fills a buffer of `int64` with numbers from `low` to `low + width`, as NumPy makes them.
    fn integers(
        &self,
        py: Python<'_>,
        buffer: &Bound<'_, PyAny>,
        low: i64,
        width: u64,
    ) -> PyResult<()> {
        Writable::borrow(buffer)?.write(py, |out| fill_integers(self.state(), low, width, out));
        Ok(())
    }

    /// The next `length` bytes, as NumPy makes them of words of 32 bits.
    fn bytes<'py>(&self, py: Python<'py>, length: isize) -> PyResult<Bound<'py, PyBytes>> {
        NewBytes::new(py, length)?.fill(py, |out| {
            self.state().fill(out);
            Ok(())
        })
    }
}

/// Has `fill` write a buffer from words under a random key, which is drawn for the call and erased at its end.
fn fill_once(
    py: Python<'_>,
    buffer: &Bound<'_, PyAny>,
    fill: impl FnOnce(&mut State, &mut [u8]) + Send,
) -> PyResult<()> {
    Writable::borrow(buffer)?.write(py, |out| {
        let mut state = Box::new(State::empty());
        state.draw_key()?;
        fill(&mut state, out);
        Ok(())
    })
}

/// Fill a buffer of `float64` with numbers from 0 to below 1 under a one-time key.
#[pyfunction]
pub fn fill_one_time_uniforms(py: Python<'_>, buffer: &Bound<'_, PyAny>) -> PyResult<()> {
    fill_once(py, buffer, |state, out| {
        state.fill_words(Kind::Uniform, out)
    })
}

/// Fill a buffer of `int64` with numbers from `low` to `low + width` under a one-time key.
#[pyfunction]
pub fn fill_one_time_integers(
    py: Python<'_>,
    buffer: &Bound<'_, PyAny>,
    low: i64,
    width: u64,
) -> PyResult<()> {
    fill_once(py, buffer, |state, out| {
        fill_integers(state, low, width, out)
    })
}
