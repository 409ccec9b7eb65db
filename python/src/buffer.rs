//! The bytes of Python objects that have a buffer.

use core::ffi::CStr;
use core::mem::MaybeUninit;

use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;

/// Requests of at least this many bytes are generated without the GIL: that takes some microseconds.
pub const RELEASE_GIL_FROM: usize = 1 << 16;

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
