//! Random bytes in new objects, and in the buffers that Python objects have.

use core::ffi::CStr;
use core::mem::MaybeUninit;

use pyo3::exceptions::{PyBufferError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::no_randomness;

/// Requests of at least this many bytes are generated without the GIL: that takes some microseconds.
const RELEASE_GIL_FROM: usize = 1 << 16;

/// The bytes of an object, borrowed until the drop.
///
/// Unlike PyO3's buffers it takes arrays without a dimension too.
pub struct Writable(Box<ffi::Py_buffer>);

impl Writable {
    /// Borrows the bytes of `object`, which must be writable and contiguous, and no pointers.
    pub fn borrow(object: &Bound<'_, PyAny>) -> PyResult<Writable> {
        let mut place = Box::new(MaybeUninit::<ffi::Py_buffer>::uninit());
        // SAFETY: the object fills in the place, which does not move until the release, or raises.
        let raised = unsafe {
            ffi::PyObject_GetBuffer(object.as_ptr(), place.as_mut_ptr(), ffi::PyBUF_FULL_RO)
        };
        if raised != 0 {
            return Err(PyErr::fetch(object.py()));
        }
        // SAFETY: the object has filled it in.
        let buffer = Writable(unsafe { place.assume_init() });
        match buffer.why_not() {
            Some(reason) => Err(PyBufferError::new_err(reason)),
            None => Ok(buffer),
        }
    }

    /// Why it must not be filled, and what can be.
    fn why_not(&self) -> Option<&'static str> {
        // SAFETY: the buffer is held, and filled in.
        let is_contiguous = unsafe { ffi::PyBuffer_IsContiguous(&*self.0, b'A' as _) } == 1;
        if self.0.readonly != 0 {
            Some(
                "the buffer is read-only: pass a writable one, such as a bytearray or an array of numpy.empty",
            )
        } else if !is_contiguous {
            Some("the buffer is not contiguous: pass a contiguous one, such as a copy")
        } else if has_pointers(self.format()) {
            Some(
                "the buffer has references to Python objects, or pointers: pass one of numbers or bytes",
            )
        } else {
            None
        }
    }

    /// The type of the elements, as of the module `struct` and PEP 3118.
    fn format(&self) -> &[u8] {
        if self.0.format.is_null() {
            return b"B";
        }
        // SAFETY: the buffer is held, and so is its format, a string of C.
        unsafe { CStr::from_ptr(self.0.format) }.to_bytes()
    }

    pub fn len(&self) -> usize {
        self.0.len as usize
    }

    /// Whether both are the same memory.
    pub fn is(&self, other: &Writable) -> bool {
        self.len() == other.len() && (self.len() == 0 || self.0.buf == other.0.buf)
    }

    /// Has `write` write the bytes, without the GIL if they are many.
    pub fn write<T: Send>(
        &mut self,
        py: Python<'_>,
        write: impl FnOnce(&mut [u8]) -> T + Send,
    ) -> T {
        if self.len() < RELEASE_GIL_FROM {
            write(self.bytes())
        } else {
            self.write_detached(py, write)
        }
    }

    /// Has `write` write the bytes without the GIL.
    pub fn write_detached<T: Send>(
        &mut self,
        py: Python<'_>,
        write: impl FnOnce(&mut [u8]) -> T + Send,
    ) -> T {
        let bytes = self.bytes();
        py.detach(|| write(bytes))
    }

    fn bytes(&mut self) -> &mut [u8] {
        if self.len() == 0 {
            return &mut [];
        }
        // SAFETY: while the buffer is held, its owner keeps the memory, which is writable and contiguous.
        // That nobody else uses it meanwhile is the caller's duty in Python, as for `readinto` of files.
        unsafe { core::slice::from_raw_parts_mut(self.0.buf.cast::<u8>(), self.len()) }
    }
}

impl Drop for Writable {
    fn drop(&mut self) {
        // SAFETY: it was filled in by `borrow`, in this place, and is released once, with the GIL.
        Python::attach(|_| unsafe { ffi::PyBuffer_Release(&mut *self.0) });
    }
}

/// Whether elements of this format have references to Python objects or pointers of C.
fn has_pointers(format: &[u8]) -> bool {
    // Names of fields are between colons.
    let mut types = format.split(|&byte| byte == b':').step_by(2);
    types.any(|types| {
        types.iter().enumerate().any(|(at, kind)| match kind {
            b'O' | b'P' | b'z' | b'&' | b'X' => true,
            // A complex number of two floats, or a pointer to characters.
            b'Z' => !matches!(types.get(at + 1), Some(b'e' | b'f' | b'd' | b'g')),
            _ => false,
        })
    })
}

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
