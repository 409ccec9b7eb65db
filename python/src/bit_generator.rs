//! The C interface of NumPy's bit generators, and the words of `squall.random.Squall`, which are unpredictable and
//! not reproducible. Those of `AES256` are in `seeded.rs`.
//!
//! `numpy.random.BitGenerator` has a structure of functions and their state, which everything that draws
//! takes from its capsule (numpy/random/bitgen.h, numpy/random/c_distributions.pxd). NumPy calls them with the
//! bit generator's lock held and without the GIL.

use core::cell::UnsafeCell;
use core::ffi::{CStr, c_void};

use pyo3::exceptions::PyTypeError;
use pyo3::ffi::{self, c_str};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use squall::BufferedSimulationRng;

use crate::integers::uniform;

/// The capsule's name.
const NAME: &CStr = c_str!("BitGenerator");

/// NumPy's `bitgen_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Interface {
    pub state: *mut c_void,
    pub next_uint64: extern "C" fn(*mut c_void) -> u64,
    pub next_uint32: extern "C" fn(*mut c_void) -> u32,
    pub next_double: extern "C" fn(*mut c_void) -> f64,
    pub next_raw: extern "C" fn(*mut c_void) -> u64,
}

// SAFETY: functions, and a pointer to the state of a bit generator, which threads use only under its lock.
unsafe impl Send for Interface {}

/// A source of random words.
pub trait Words {
    fn next_u64(&mut self) -> u64;
    fn next_u32(&mut self) -> u32;

    /// A number from 0 to below 1.
    fn next_f64(&mut self) -> f64 {
        uniform(self.next_u64())
    }

    /// A word of `random_raw`.
    fn next_raw(&mut self) -> u64 {
        self.next_u64()
    }
}

/// The functions of the bit generator in this capsule, which is initialised.
pub fn interface_of(capsule: &Bound<'_, PyCapsule>) -> PyResult<Interface> {
    let interface = capsule.pointer_checked(Some(NAME))?.cast::<Interface>();
    // SAFETY: a capsule of this name holds such a structure, which its bit generator owns and has filled in.
    Ok(unsafe { interface.read() })
}

/// Makes the bit generator of this capsule draw from `words`, which `owner` has. The capsule keeps the owner.
///
/// # Safety
/// `words` must stay where it is as long as the owner lives, and be reached only under the bit generator's lock
/// from then on.
pub unsafe fn connect<W: Words>(
    capsule: &Bound<'_, PyCapsule>,
    words: *mut W,
    owner: Bound<'_, PyAny>,
) -> PyResult<()> {
    let interface = capsule.pointer_checked(Some(NAME))?.cast::<Interface>();
    // SAFETY: these are a capsule, and a reference that its destructor gives back.
    unsafe {
        if !ffi::PyCapsule_GetContext(capsule.as_ptr()).is_null() {
            return Err(PyTypeError::new_err("the bit generator has words already"));
        }
        ffi::PyCapsule_SetDestructor(capsule.as_ptr(), Some(drop_owner));
        ffi::PyCapsule_SetContext(capsule.as_ptr(), owner.into_ptr().cast());
    }
    let functions = Interface {
        state: words.cast(),
        next_uint64: next_uint64::<W>,
        next_uint32: next_uint32::<W>,
        next_double: next_double::<W>,
        next_raw: next_raw::<W>,
    };
    // SAFETY: a capsule of this name holds such a structure, which its bit generator owns and keeps.
    unsafe { interface.write(functions) };
    Ok(())
}

/// The destructor of a capsule that `connect` has connected.
unsafe extern "C" fn drop_owner(capsule: *mut ffi::PyObject) {
    // SAFETY: Python calls it once, with the GIL; the context is the reference that `connect` left there.
    unsafe { ffi::Py_XDECREF(ffi::PyCapsule_GetContext(capsule).cast()) };
}

/// The words behind `state`.
///
/// # Safety
/// By `connect`, `state` points to a `W`, and the caller has the bit generator's lock.
unsafe fn words<'a, W>(state: *mut c_void) -> &'a mut W {
    // SAFETY: the caller's promise.
    unsafe { &mut *state.cast::<W>() }
}

extern "C" fn next_uint64<W: Words>(state: *mut c_void) -> u64 {
    // SAFETY: NumPy passes the state and holds the lock.
    unsafe { words::<W>(state) }.next_u64()
}

extern "C" fn next_uint32<W: Words>(state: *mut c_void) -> u32 {
    // SAFETY: as above.
    unsafe { words::<W>(state) }.next_u32()
}

extern "C" fn next_double<W: Words>(state: *mut c_void) -> f64 {
    // SAFETY: as above.
    unsafe { words::<W>(state) }.next_f64()
}

extern "C" fn next_raw<W: Words>(state: *mut c_void) -> u64 {
    // SAFETY: as above.
    unsafe { words::<W>(state) }.next_raw()
}

/// The words of `squall.random.Squall`.
#[pyclass(frozen, module = "squall._squall")]
pub struct UnrepeatableWords(Box<UnsafeCell<BufferedSimulationRng>>);

// SAFETY: a shared reference can only connect it, and by the promise of `connect` NumPy's lock guards all that
// draw from it.
unsafe impl Sync for UnrepeatableWords {}

impl Words for BufferedSimulationRng {
    #[inline]
    fn next_u64(&mut self) -> u64 {
        rand_core::Rng::next_u64(self)
    }

    #[inline]
    fn next_u32(&mut self) -> u32 {
        rand_core::Rng::next_u32(self)
    }
}

#[pymethods]
impl UnrepeatableWords {
    /// Words for the bit generator of this capsule.
    #[new]
    fn new<'py>(capsule: &Bound<'py, PyCapsule>) -> PyResult<Bound<'py, UnrepeatableWords>> {
        let owner = Bound::new(capsule.py(), UnrepeatableWords(Box::default()))?;
        // SAFETY: the words stay in their box as long as the owner lives.
        unsafe { connect(capsule, owner.get().0.get(), owner.clone().into_any())? };
        Ok(owner)
    }

    /// Begin anew in a forked child process, where another thread was in the middle of a draw at the fork.
    ///
    /// What the thread left behind is neither used nor freed. The caller must be the only thread, and must not be
    /// in a draw itself.
    fn begin_anew(&self) {
        // SAFETY: by the caller's promise nobody has a reference. The old value is not dropped.
        unsafe { self.0.get().write(BufferedSimulationRng::new()) };
    }
}
