//! Arrays of numbers from the thread's generator.

use pyo3::prelude::*;
use squall::internal::below_u64;

use crate::buffer::Writable;
use crate::elements::Kind;
use crate::integers::word;
use crate::no_randomness;

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
