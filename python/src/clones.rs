//! The clone generation, and the base class of `squall.CloneWatch`.

use std::num::NonZeroU64;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use squall::clones;

/// Return a number that changes when this process may be running in a clone of its machine, or was itself restored.
///
/// Returns
/// -------
/// int or None
///     None if nothing on this machine distinguishes a restored snapshot from a pause: then copies go unnoticed. Compare
///     the number with earlier ones of the same process only; two copies may have the same number.
///
/// Notes
/// -----
/// `clone_signal` says how soon the number changes. A forked child process begins with its parent's number; with the
/// signal ``"kernel-log"``, that changes once more at the kernel's next reseed.
#[pyfunction]
pub fn clone_generation() -> Option<NonZeroU64> {
    clones::generation()
}

/// Return the name of the signal that `clone_generation` follows.
///
/// Returns
/// -------
/// str or None
///     ``"kvm-clock"``, ``"vmclock"`` or ``"vmgenid-page"``, which change before a clone runs; ``"kernel-log"``, where the kernel's
///     message about vmgenid comes milliseconds after the clone begins to run; ``"process"``, where this is no virtual
///     machine and only the process may be restored (CRIU); or None if this process cannot notice clones. Reading the log
///     takes CAP_SYSLOG, or kernel.dmesg_restrict=0.
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

    /// Return the descriptor, for `select`, `selectors` and event loops. It becomes readable when the machine may have
    /// been cloned or the process restored, and every 0.1 seconds. `take_change` says which, and resets the descriptor.
    fn fileno(&self) -> i32 {
        self.watch().as_fd().as_raw_fd()
    }

    /// Return whether the machine may have been cloned, or the process was restored, since the last call, or since the
    /// watch began. Never waits.
    fn take_change(&self) -> PyResult<bool> {
        Ok(self.watch().take_change()?)
    }
}

impl CloneWatch {
    /// The locked watch. A thread that holds the lock stays attached to the interpreter, so the lock is free in a fork.
    fn watch(&self) -> std::sync::MutexGuard<'_, clones::Watch> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
