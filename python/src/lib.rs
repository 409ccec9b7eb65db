//! The Python module `squall._squall`: what the package `squall` is made of.
//!
//! Functions raise `ValueError`, `TypeError`, `BufferError` or `OSError` with one line. Long requests are generated
//! without the GIL.

mod bit_generator;
mod bytes;
mod clones;
mod cuda;
mod elements;
mod integers;
mod seeded;
mod stream;
mod until_seeded;

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;

/// The error for a machine without a source of randomness.
fn no_randomness(error: squall::Error) -> PyErr {
    PyOSError::new_err(error.to_string())
}

#[pymodule(gil_used = false)]
mod _squall {
    #[pymodule_export]
    use crate::bit_generator::UnrepeatableWords;
    #[pymodule_export]
    use crate::bytes::{fill, fresh_bytes, token_bytes};
    #[pymodule_export]
    use crate::clones::{CloneWatch, clone_generation, clone_signal};
    #[pymodule_export]
    use crate::cuda::{Launcher, RoundKeys};
    #[pymodule_export]
    use crate::elements::{fill_elements, normal_of_word, permute};
    #[pymodule_export]
    use crate::integers::{
        fill_integers, fill_uniforms, getrandbits, randbelow, random, shuffle, uuid4_bytes,
    };
    #[pymodule_export]
    use crate::seeded::{SeededWords, fill_one_time_integers, fill_one_time_uniforms};
    #[pymodule_export]
    use crate::stream::Stream;
    #[pymodule_export]
    use crate::until_seeded::{FunctionsUntilSeeded, WordsUntilSeeded};

    use pyo3::prelude::*;

    use crate::no_randomness;

    /// Return the protections of this process and the work of its generator, as JSON.
    #[pyfunction]
    fn status() -> PyResult<String> {
        squall_binding_base::facts::json().map_err(no_randomness)
    }
}
