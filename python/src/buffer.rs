//! The bytes of Python objects that have a buffer.

use core::ffi::CStr;

use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;

/// Buffers of at least this many bytes are filled without the GIL: that takes some microseconds.
pub const LONG: usize = 1 << 16;

/// The bytes of an object, borrowed until the drop.
pub struct Writable(PyUntypedBuffer);

impl Writable {
    /// The bytes of `object`, which must be writable and in one piece.
    pub fn of(object: &Bound<'_, PyAny>) -> PyResult<Writable> {
        let buffer = PyUntypedBuffer::get(object)?;
        if buffer.readonly() {
            return Err(PyBufferError::new_err(
                "the buffer is read-only: pass a writable one, as bytearray or numpy.empty make them",
            ));
        }
        if !buffer.is_c_contiguous() && !buffer.is_fortran_contiguous() {
            return Err(PyBufferError::new_err(
                "the buffer is not contiguous: pass one whose bytes are in one piece",
            ));
        }
        if has_objects(buffer.format()) {
            return Err(PyBufferError::new_err(
                "the buffer has references to Python objects: pass one of numbers or bytes",
            ));
        }
        Ok(Writable(buffer))
    }

    pub fn len(&self) -> usize {
        self.0.len_bytes()
    }

    /// Has `write` write the bytes, without the GIL if they are many.
    pub fn write<T: Send>(
        &mut self,
        py: Python<'_>,
        write: impl FnOnce(&mut [u8]) -> T + Send,
    ) -> T {
        if self.len() < LONG {
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
        // SAFETY: while the buffer is held, its owner keeps the memory, which is writable and in one piece.
        // That nobody else uses it meanwhile is the caller's duty in Python, as for `readinto` of files.
        unsafe { core::slice::from_raw_parts_mut(self.0.buf_ptr().cast::<u8>(), self.len()) }
    }
}

/// Whether a buffer of this format, as of the module `struct` and PEP 3118, has references to objects.
fn has_objects(format: &CStr) -> bool {
    // Names of fields are between colons.
    let mut types = format.to_bytes().split(|&byte| byte == b':').step_by(2);
    types.any(|types| types.contains(&b'O'))
}
