//! `squall.Stream`: a key as a keystream that is read like a file.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::{PyEOFError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use zeroize::Zeroizing;

use crate::buffer::Writable;
use crate::bytes::new_bytes;

/// Length of a key, in bytes.
const KEY: usize = 32;

/// A key as 2**64 reproducible bytes, which are read like a file.
///
/// Parameters
/// ----------
/// key : bytes of length 32, or str of 64 hexadecimal digits
///     Whoever knows the key knows all the bytes. ``squall.token_bytes(32)`` makes one.
///
/// Raises
/// ------
/// TypeError, ValueError
///     The key is neither.
///
/// Notes
/// -----
/// The bytes are AES-256 in counter mode from counter 0 (FIPS 197; NIST SP 800-38A section 6.5): those of ``squall
/// stream --seed``, of the Rust library's ``Stream``, and of ``openssl enc -aes-256-ctr -K KEY -iv 0`` over zeros.
///
/// Threads may share a stream: each call gets the bytes after those of the call before it. 64 KiB and more are
/// generated without the GIL.
///
/// Forks and clones: a child of fork and a clone of a virtual machine go on with the same bytes. The expanded key is
/// wiped when the object is freed; it is neither locked in memory nor kept out of core dumps.
///
/// Examples
/// --------
/// >>> import squall
/// >>> stream = squall.Stream(bytes(32))
/// >>> stream.seek(1 << 40)
/// 1099511627776
/// >>> len(stream.read(16))
/// 16
#[pyclass(frozen, module = "squall")]
pub struct Stream(Mutex<squall::Stream>);

/// The key that `object` holds: 32 bytes, or 64 hexadecimal digits, as in a seed file.
fn key(object: &Bound<'_, PyAny>) -> PyResult<Zeroizing<[u8; KEY]>> {
    let wrong = "the key must be 32 bytes, or a str of 64 hexadecimal digits";
    let bytes: Zeroizing<Vec<u8>> = if let Ok(digits) = object.cast::<PyString>() {
        let bytes = object
            .py()
            .get_type::<PyBytes>()
            .call_method1("fromhex", (digits.call_method0("strip")?,))
            .map_err(|_| PyValueError::new_err(wrong))?;
        Zeroizing::new(bytes.extract()?)
    } else {
        let bytes = object.extract::<Vec<u8>>();
        Zeroizing::new(bytes.map_err(|_| PyTypeError::new_err(wrong))?)
    };
    let array = bytes[..].try_into();
    Ok(Zeroizing::new(
        array.map_err(|_| PyValueError::new_err(wrong))?,
    ))
}

fn at_the_end(_: squall::Error) -> PyErr {
    PyEOFError::new_err("the stream ends after 2**64 bytes")
}

impl Stream {
    /// Whoever has the lock does not wait for the GIL.
    fn lock(&self) -> MutexGuard<'_, squall::Stream> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Stream {
    #[new]
    #[pyo3(signature = (key, /))]
    fn new(#[pyo3(from_py_with = key)] key: Zeroizing<[u8; KEY]>) -> Stream {
        Stream(Mutex::new(squall::Stream::new(&key)))
    }

    /// Return the next `nbytes` bytes, always all of them.
    ///
    /// It raises EOFError, and stays where it is, if that is beyond the end.
    #[pyo3(signature = (nbytes, /))]
    fn read<'py>(&self, py: Python<'py>, nbytes: isize) -> PyResult<Bound<'py, PyBytes>> {
        new_bytes(py, nbytes, |bytes| {
            self.lock().fill(bytes).map_err(at_the_end)
        })
    }

    /// Fill a writable buffer in one piece with the next bytes, and return its length in bytes.
    ///
    /// It raises EOFError as `read`, and BufferError if the buffer is read-only or not contiguous.
    #[pyo3(signature = (buffer, /))]
    fn readinto(&self, py: Python<'_>, buffer: &Bound<'_, PyAny>) -> PyResult<usize> {
        let mut buffer = Writable::of(buffer)?;
        let filled = buffer.write(py, |bytes| self.lock().fill(bytes));
        filled.map_err(at_the_end)?;
        Ok(buffer.len())
    }

    /// Move to the byte `offset`, counted from the start, or from where the stream is if `whence` is 1. Return where
    /// that is.
    ///
    /// It raises ValueError if that is not from 0 to below 2**64.
    #[pyo3(signature = (offset, whence=0, /))]
    fn seek(&self, py: Python<'_>, offset: i128, whence: u8) -> PyResult<u64> {
        py.detach(|| {
            let mut stream = self.lock();
            let start = match whence {
                0 => 0,
                1 => stream.position().map_or(1 << 64, i128::from),
                _ => {
                    return Err(PyValueError::new_err(
                        "whence must be 0, the start, or 1, where the stream is",
                    ));
                }
            };
            let target = u64::try_from(start + offset).map_err(|_| {
                PyValueError::new_err("the offset is outside of the stream's 2**64 bytes")
            })?;
            stream.seek(target);
            Ok(target)
        })
    }

    /// Return the number of the next byte, which is 2**64 at the end.
    fn tell(&self, py: Python<'_>) -> i128 {
        py.detach(|| self.lock().position())
            .map_or(1 << 64, i128::from)
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        format!("<squall.Stream at byte {}>", self.tell(py))
    }
}
