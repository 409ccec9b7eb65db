//! Random bytes, in new objects and in buffers.

use pyo3::exceptions::{PyBufferError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::buffer::{RELEASE_GIL_FROM, Writable};
use crate::no_randomness;

/// Bytes of a token unless the caller says otherwise; the same as in `secrets`.
const DEFAULT_LENGTH: isize = 32;

/// A new bytes object whose bytes are still to be written.
pub struct NewBytes<'py> {
    object: Bound<'py, PyBytes>,
    length: usize,
}

impl<'py> NewBytes<'py> {
    pub fn new(py: Python<'py>, length: isize) -> PyResult<Self> {
        if length < 0 {
            return Err(PyValueError::new_err(format!(
                "the length is {length} bytes: it must not be negative"
            )));
        }
        // SAFETY: without a source, the object has memory of its own for its bytes.
        let object = unsafe {
            let object = ffi::PyBytes_FromStringAndSize(core::ptr::null(), length);
            Bound::from_owned_ptr_or_err(py, object)?.cast_into_unchecked()
        };
        let length = length as usize;
        Ok(NewBytes { object, length })
    }

    pub fn len(&self) -> usize {
        self.length
    }

    /// Has `fill` write all the bytes, without the GIL if they are many, and gives the object away.
    pub fn fill(
        self,
        py: Python<'py>,
        fill: impl FnOnce(&mut [u8]) -> PyResult<()> + Send,
    ) -> PyResult<Bound<'py, PyBytes>> {
        // SAFETY: nobody else has the object before this returns. Its bytes need no zeros first: any byte is valid,
        // and `fill` writes all of them, or the object is dropped.
        let bytes = unsafe {
            let start = ffi::PyBytes_AsString(self.object.as_ptr()).cast::<u8>();
            core::slice::from_raw_parts_mut(start, self.length)
        };
        if self.length < RELEASE_GIL_FROM {
            fill(bytes)?;
        } else {
            py.detach(|| fill(bytes))?;
        }
        Ok(self.object)
    }
}

fn random_bytes(
    py: Python<'_>,
    length: Option<isize>,
    fill: fn(&mut [u8]) -> Result<(), squall::Error>,
) -> PyResult<Bound<'_, PyBytes>> {
    NewBytes::new(py, length.unwrap_or(DEFAULT_LENGTH))?
        .fill(py, |bytes| fill(bytes).map_err(no_randomness))
}

/// Return `nbytes` random bytes (default: 32).
///
/// Raises
/// ------
/// ValueError
///     `nbytes` is negative.
/// TypeError, OverflowError, MemoryError
///     `nbytes` is no integer, or there is no memory for so many bytes.
/// OSError
///     The machine has no source of randomness, as in some sandboxes.
///
/// Notes
/// -----
/// For keys, nonces and tokens. The generator of the thread is CTR_DRBG of NIST SP 800-90A with AES-256, seeded from
/// the kernel and from an entropy accumulator together. 64 KiB and more are generated without the GIL.
///
/// Forks and clones: a forked child process gets other bytes, and so does a clone of a virtual machine, also before
/// the kernel is notified of it; a call in whose middle the machine is cloned may give the same in each clone.
#[pyfunction]
#[pyo3(signature = (nbytes=None, /))]
pub fn token_bytes(py: Python<'_>, nbytes: Option<isize>) -> PyResult<Bound<'_, PyBytes>> {
    random_bytes(py, nbytes, squall::try_fill)
}

/// Return `nbytes` random bytes that depend on no state of this process (default: 32).
///
/// For keys that live for years. Every 64 KiB are from a generator seeded for them, by a system call: nothing that
/// leaks from this process, before or after, reveals them. That takes microseconds.
///
/// Errors, forks and clones: same as `token_bytes`.
#[pyfunction]
#[pyo3(signature = (nbytes=None, /))]
pub fn fresh_bytes(py: Python<'_>, nbytes: Option<isize>) -> PyResult<Bound<'_, PyBytes>> {
    random_bytes(py, nbytes, squall::try_fill_fresh)
}

/// Fill a contiguous writable buffer: `squall.fill` without `numpy()`. A second buffer must be the same memory.
#[pyfunction]
#[pyo3(signature = (buffer, same=None, /))]
pub fn fill(
    py: Python<'_>,
    buffer: &Bound<'_, PyAny>,
    same: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let mut buffer = Writable::borrow(buffer)?;
    if let Some(same) = same
        && !buffer.is(&Writable::borrow(same)?)
    {
        return Err(PyBufferError::new_err(
            "numpy() returns a copy: pass an object whose numpy() shares its memory, or the copy itself",
        ));
    }
    buffer.write(py, squall::try_fill).map_err(no_randomness)
}
