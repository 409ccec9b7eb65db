//! Numbers from the thread's generator: what `random.Random` is made of, and arrays.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt, PyList};
use squall::internal::below_u64;

use crate::bytes::{NewBytes, Writable};
use crate::elements::Kind;
use crate::no_randomness;

fn word() -> PyResult<u64> {
    let mut bytes = [0; 8];
    squall::try_fill(&mut bytes).map_err(no_randomness)?;
    Ok(u64::from_ne_bytes(bytes))
}

/// Return a number from 0 to below 1, a multiple of 2**-53.
#[pyfunction]
pub fn random() -> PyResult<f64> {
    word().map(uniform)
}

/// The upper 53 bits of a word as a number from 0 to below 1, a multiple of 2^-53, as `Kind::Uniform` makes it.
///
/// It sets the upper 52 bits as the fraction of a number from 1 to below 2, and subtracts 1 or the next smaller number. A
/// conversion of the integer takes longer on x86-64: it writes half of a register, and so waits for its last value.
#[inline]
pub fn uniform(word: u64) -> f64 {
    const ONE: u64 = 1f64.to_bits();
    f64::from_bits(ONE | word >> 12) - f64::from_bits(ONE - (word >> 11 & 1))
}

/// Return an integer of `k` random bits.
///
/// It raises ValueError if `k` is negative.
#[pyfunction]
#[pyo3(signature = (k, /))]
pub fn getrandbits<'py>(py: Python<'py>, k: isize) -> PyResult<Bound<'py, PyAny>> {
    match k {
        ..0 => Err(PyValueError::new_err(format!(
            "the number of bits is {k}: it must not be negative"
        ))),
        0 => Ok(0u8.into_pyobject(py)?.into_any()),
        1..=64 => Ok((word()? >> (64 - k)).into_pyobject(py)?.into_any()),
        _ => {
            let bits = k as usize;
            let length = bits.div_ceil(8) as isize;
            let bytes = NewBytes::new(py, length)?.fill(py, |bytes| {
                squall::try_fill(bytes).map_err(no_randomness)?;
                if let (Some(last), 1..) = (bytes.last_mut(), bits % 8) {
                    *last >>= 8 - bits % 8;
                }
                Ok(())
            })?;
            py.get_type::<PyInt>()
                .call_method1("from_bytes", (bytes, "little"))
        }
    }
}

/// Return an integer from 0 to below `n`, each as likely as another; `n` may be of any size.
///
/// Raises
/// ------
/// ValueError
///     `n` is not positive.
/// TypeError
///     `n` is no integer.
/// OSError
///     Same as `token_bytes`.
///
/// Notes
/// -----
/// Up to 2**64 by Lemire's method ("Fast Random Integer Generation in an Interval", 2019), without bias; beyond, by
/// drawing again. Forks and clones: same as `token_bytes`.
#[pyfunction]
#[pyo3(signature = (n, /))]
pub fn randbelow<'py>(py: Python<'py>, n: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let index;
    let n = if n.is_instance_of::<PyInt>() {
        n
    } else {
        index = py.import("operator")?.call_method1("index", (n,))?;
        &index
    };
    if let Ok(bound @ 1..) = n.extract::<u64>() {
        return Ok(below_u64(bound, word)?.into_pyobject(py)?.into_any());
    }
    if n.le(0)? {
        return Err(PyValueError::new_err(
            "there is no number from 0 to below n: n must be positive",
        ));
    }
    let bits: isize = n.call_method0("bit_length")?.extract()?;
    loop {
        let candidate = getrandbits(py, bits)?;
        if candidate.lt(n)? {
            return Ok(candidate);
        }
    }
}

/// Items that are shuffled before signals and other threads have their turn.
const TURN: usize = 1 << 14;

/// Shuffle a list in place: Fisher and Yates, as in Knuth, "The Art of Computer Programming", volume 2,
/// algorithm 3.4.2P.
///
/// The items are taken at once and put back at once, so that no other thread's shuffle of the list loses one, with
/// the GIL or without. What others append meanwhile stays at the end.
#[pyfunction]
#[pyo3(signature = (list, /))]
pub fn shuffle(py: Python<'_>, list: &Bound<'_, PyList>) -> PyResult<()> {
    let before = list.to_tuple();
    let mut items: Vec<_> = before.iter_borrowed().collect();
    for at in (1..items.len()).rev() {
        if at % TURN == 0 {
            py.check_signals()?;
            py.detach(|| ());
        }
        let other = below_u64(at as u64 + 1, word)? as usize;
        items.swap(at, other);
    }
    let length = items.len();
    list.set_slice(0, length, PyList::new(py, items)?.as_any())
}

/// Return the bytes of a UUID of version 4 (RFC 9562 section 5.4), big-endian.
#[pyfunction]
pub fn uuid4_bytes(py: Python<'_>) -> PyResult<Bound<'_, PyBytes>> {
    PyBytes::new_with(py, 16, |bytes| {
        squall::try_fill(bytes).map_err(no_randomness)?;
        bytes[6] = bytes[6] & 0x0f | 0x40;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        Ok(())
    })
}

/// Has `make` make each number of a buffer of 64 random bits.
fn fill_with(
    py: Python<'_>,
    buffer: &Bound<'_, PyAny>,
    make: impl Fn(u64) -> PyResult<u64> + Send + Sync,
) -> PyResult<()> {
    Writable::borrow(buffer)?.write(py, |out| {
        squall::try_fill(out).map_err(no_randomness)?;
        for place in out.as_chunks_mut::<8>().0 {
            *place = make(u64::from_ne_bytes(*place))?.to_ne_bytes();
        }
        Ok(())
    })
}

/// Fill a buffer of `float64` with numbers from 0 to below 1.
#[pyfunction]
pub fn fill_uniforms(py: Python<'_>, buffer: &Bound<'_, PyAny>) -> PyResult<()> {
    fill_with(py, buffer, |word| Ok(Kind::Uniform.element(word)))
}

/// Fill a buffer of `int64` with numbers from `low` to `low + width`, each as likely as another.
#[pyfunction]
pub fn fill_integers(
    py: Python<'_>,
    buffer: &Bound<'_, PyAny>,
    low: i64,
    width: u64,
) -> PyResult<()> {
    fill_with(py, buffer, |first| {
        let distance = match width.checked_add(1) {
            None => first,
            Some(bound) => {
                let mut first = Some(first);
                below_u64(bound, || first.take().map_or_else(word, Ok))?
            }
        };
        Ok((low as u64).wrapping_add(distance))
    })
}
