//! Random bytes, in new objects and in buffers.

use pyo3::exceptions::PyValueError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::buffer::{LONG, Writable};
use crate::no_randomness;

/// Length of a token unless the caller says it, in bytes; the same as in `secrets`.
const TOKEN: isize = 32;

/// A new bytes object of `length` bytes, which `fill` fills, without the GIL if they are many.
pub fn new_bytes(
    py: Python<'_>,
    length: isize,
    fill: impl FnOnce(&mut [u8]) -> PyResult<()> + Send,
) -> PyResult<Bound<'_, PyBytes>> {
    if length < 0 {
        return Err(PyValueError::new_err(format!(
            "the length is {length} bytes: it must not be negative"
        )));
    }
    // SAFETY: without a source, the object has bytes of its own, which nobody else sees before this returns.
    // They need no zeros first: any byte is valid, and `fill` writes all of them, or the object is dropped.
    unsafe {
        let object = ffi::PyBytes_FromStringAndSize(core::ptr::null(), length);
        let object = Bound::from_owned_ptr_or_err(py, object)?.cast_into_unchecked::<PyBytes>();
        let start = ffi::PyBytes_AsString(object.as_ptr()).cast::<u8>();
        let bytes = core::slice::from_raw_parts_mut(start, length as usize);
        if bytes.len() < LONG {
            fill(bytes)?;
        } else {
            py.detach(|| fill(bytes))?;
        }
        Ok(object)
    }
}

fn random_bytes(
    py: Python<'_>,
    length: Option<isize>,
    fill: fn(&mut [u8]) -> Result<(), squall::Error>,
) -> PyResult<Bound<'_, PyBytes>> {
    new_bytes(py, length.unwrap_or(TOKEN), |bytes| {
        fill(bytes).map_err(no_randomness)
    })
}

/// Return `nbytes` random bytes; 32 unless given.
///
/// Raises
/// ------
/// ValueError
///     `nbytes` is negative.
/// OSError
///     The machine has no source of randomness, as in some sandboxes.
///
/// Notes
/// -----
/// For keys, nonces and tokens. The generator of the thread is CTR_DRBG of NIST SP 800-90A with AES-256, seeded from
/// the kernel and from an entropy accumulator together. 64 KiB and more are generated without the GIL.
///
/// Forks and clones: a child of fork gets other bytes, and so does a clone of a virtual machine, also before the
/// kernel is notified of it; a call in whose middle the machine is cloned may give the same in each clone.
#[pyfunction]
#[pyo3(signature = (nbytes=None, /))]
pub fn token_bytes(py: Python<'_>, nbytes: Option<isize>) -> PyResult<Bound<'_, PyBytes>> {
    random_bytes(py, nbytes, squall::try_fill)
}

/// Return `nbytes` random bytes that depend on no state of this process; 32 unless given.
///
/// For keys that live for years. Every 64 KiB are from a generator seeded for them, by a system call: nothing that
/// leaks from this process, before or after, reveals them. That takes microseconds.
///
/// Errors, forks and clones: as `token_bytes`.
#[pyfunction]
#[pyo3(signature = (nbytes=None, /))]
pub fn fresh_bytes(py: Python<'_>, nbytes: Option<isize>) -> PyResult<Bound<'_, PyBytes>> {
    random_bytes(py, nbytes, squall::try_fill_fresh)
}

/// Fill a writable buffer in one piece: `squall.fill` without `numpy()`.
#[pyfunction]
#[pyo3(signature = (buffer, /))]
pub fn fill(py: Python<'_>, buffer: &Bound<'_, PyAny>) -> PyResult<()> {
    let filled = Writable::of(buffer)?.write(py, squall::try_fill);
    filled.map_err(no_randomness)
}
