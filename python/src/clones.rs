//! Whether the machine was cloned: the number, and the watch that `squall.CloneWatch` is made of.

use std::num::NonZeroU64;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use squall::clones;

/// Return a number that differs from the one before once this process may run in another copy of its machine.
///
/// Returns
/// -------
/// int or None
///     None if that is unknown: then nothing on this machine tells a restored snapshot from a pause. Compare the number
///     with earlier ones of the same process only; two clones may have the same number.
///
/// Notes
/// -----
/// How late it changes depends on the signal: see `clone_signal`. A forked child process goes on with its parent's
/// number; with the kernel's log, it changes once more at the kernel's next reseed.
#[pyfunction]
pub fn clone_generation() -> Option<NonZeroU64> {
    clones::generation()
}

/// Return the name of the signal that `clone_generation` follows.
///
/// Returns
/// -------
/// str or None
///     ``"vmclock"`` or ``"vmgenid-page"``, which change before a clone runs; ``"kernel-log"``, where the
///     kernel's message about vmgenid comes milliseconds after the clone runs; or None if nothing shows this process
///     clones. Reading the log takes CAP_SYSLOG, or kernel.dmesg_restrict=0.
#[pyfunction]
pub fn clone_signal() -> Option<String> {
    clones::signal().map(|signal| signal.to_string())
}

/// The part of `squall.CloneWatch` in Rust.
#[pyclass(frozen, subclass, module = "squall")]
pub struct CloneWatch(Mutex<clones::Watch>);

#[pymethods]
impl CloneWatch {
    #[new]
    fn new() -> PyResult<CloneWatch> {
        Ok(CloneWatch(Mutex::new(clones::Watch::new()?)))
    }

    /// Return the descriptor, for `select`, `selectors` and event loops. It becomes readable if the machine may have been
    /// cloned, and now and then without reason: `take_change` tells which, and makes it wait again.
    fn fileno(&self) -> i32 {
        self.watch().as_fd().as_raw_fd()
    }

    /// Return whether the machine may have been cloned since the last call, or since the watch began. Never waits.
    fn take_change(&self) -> PyResult<bool> {
        Ok(self.watch().take_change()?)
    }
}

impl CloneWatch {
    /// The watch. Whoever has the lock stays attached to the interpreter, so that a fork finds it free.
    fn watch(&self) -> std::sync::MutexGuard<'_, clones::Watch> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
