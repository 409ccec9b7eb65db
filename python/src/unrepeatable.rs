//! The words of `squall.random.Squall`: unpredictable, and not reproducible.

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
