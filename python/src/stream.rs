//! `squall.Stream`: a key as a keystream that is read like a file.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::{PyEOFError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use squall::hazmat::{Aes256, Keystream, Stores};
use zeroize::Zeroizing;

use crate::bytes::{NewBytes, Writable};
use crate::elements::{BLOCK, fill_bytes_from, keystream};

/// Length of the stream, in bytes.
const END: u128 = 1 << 64;

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
/// Forks and clones: a forked child process and a clone of a virtual machine go on with the same bytes. The expanded
/// key is wiped when the object is freed; it is neither locked in memory nor kept out of core dumps.
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
pub struct Stream {
    keystream: Keystream<Aes256>,
    /// Number of the next byte. Whoever has the lock stays attached to the interpreter, so that a fork, which waits
    /// for the GIL or until all threads have stopped, finds it free.
    position: Mutex<u128>,
}

/// The key that `object` holds: 32 bytes, or 64 hexadecimal digits, as in a seed file.
pub fn key(object: &Bound<'_, PyAny>) -> PyResult<Zeroizing<Vec<u8>>> {
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
    if bytes.len() != 32 {
        return Err(PyValueError::new_err(wrong));
    }
    Ok(bytes)
}

impl Stream {
    fn position(&self) -> MutexGuard<'_, u128> {
        self.position.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the next `length` bytes for the caller, and returns the number of the first.
    fn take(&self, length: usize) -> PyResult<u128> {
        let mut position = self.position();
        let first = *position;
        let end = first + length as u128;
        if end > END {
            return Err(PyEOFError::new_err("the stream ends after 2**64 bytes"));
        }
        *position = end;
        Ok(first)
    }

    /// Writes the bytes from number `first` on.
    fn generate(&self, first: u128, out: &mut [u8]) {
        let (block, skipped) = (first / BLOCK as u128, first as usize % BLOCK);
        let stores = Stores::for_len(out.len());
        fill_bytes_from(&self.keystream, block, skipped, out, stores);
    }
}

#[pymethods]
impl Stream {
    #[new]
    #[pyo3(signature = (key, /))]
    fn new(#[pyo3(from_py_with = key)] key: Zeroizing<Vec<u8>>) -> PyResult<Stream> {
        Ok(Stream {
            keystream: keystream(&key)?,
            position: Mutex::new(0),
        })
    }

    /// Return the next `nbytes` bytes, always all of them.
    ///
    /// Raises
    /// ------
    /// EOFError
    ///     There are fewer bytes before the end; the stream stays where it is.
    /// ValueError, TypeError, OverflowError, MemoryError
    ///     `nbytes` is negative or no integer, or there is no memory for so many bytes.
    #[pyo3(signature = (nbytes, /))]
    fn read<'py>(&self, py: Python<'py>, nbytes: isize) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = NewBytes::new(py, nbytes)?;
        let first = self.take(bytes.len())?;
        bytes.fill(py, |out| {
            self.generate(first, out);
            Ok(())
        })
    }

    /// Fill a contiguous writable buffer with the next bytes, and return its length in bytes.
    ///
    /// Raises
    /// ------
    /// EOFError
    ///     There are fewer bytes before the end; the stream stays where it is, and nothing is written.
    /// BufferError, TypeError
    ///     As `squall.fill`.
    #[pyo3(signature = (buffer, /))]
    fn readinto(&self, py: Python<'_>, buffer: &Bound<'_, PyAny>) -> PyResult<usize> {
        let mut buffer = Writable::borrow(buffer)?;
        let first = self.take(buffer.len())?;
        buffer.write(py, |out| self.generate(first, out));
        Ok(buffer.len())
    }

    /// Move to the byte `offset`, counted in bytes from the start, or from where the stream is if `whence` is 1, and
    /// return the number of that byte.
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     That is not from 0 to below 2**64, or `whence` is neither 0 nor 1; the stream stays where it is.
    #[pyo3(signature = (offset, whence=0, /))]
    fn seek(&self, offset: i128, whence: u8) -> PyResult<u64> {
        let mut position = self.position();
        let start = match whence {
            0 => 0,
            1 => *position as i128,
            _ => {
                return Err(PyValueError::new_err(
                    "whence must be 0, the start, or 1, where the stream is",
                ));
            }
        };
        let target = start.checked_add(offset).map(u64::try_from);
        let Some(Ok(target)) = target else {
            return Err(PyValueError::new_err(
                "the offset is outside of the stream's 2**64 bytes",
            ));
        };
        *position = target.into();
        Ok(target)
    }

    /// Return the number of the next byte, from 0 to 2**64, which is the end.
    fn tell(&self) -> u128 {
        *self.position()
    }

    fn __repr__(&self) -> String {
        format!("<squall.Stream at byte {}>", self.tell())
    }
}
