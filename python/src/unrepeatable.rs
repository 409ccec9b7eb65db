//! The words of `squall.random.Squall`: nobody can repeat them.

use core::cell::UnsafeCell;

use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use squall::BufferedSimulationRng;

use crate::bit_generator::{Words, connect};

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
    /// Words for the bit generator of this capsule, which must keep this object.
    #[new]
    fn new(capsule: &Bound<'_, PyCapsule>) -> PyResult<UnrepeatableWords> {
        let words = UnrepeatableWords(Box::default());
        // SAFETY: the words stay in their box, and `squall.random.Squall` keeps this object.
        unsafe { connect(capsule, words.0.get())? };
        Ok(words)
    }
}
