//! One run at a time.

use std::fs::{File, TryLockError};
use std::path::Path;

use squall_tools::Failure;
use squall_tools::failure::at;

use super::tool::step;

/// Held by the run that changes the cache; the system takes it from one that dies.
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Waits until nobody else changes the cache in `directory`.
    pub fn take(directory: &Path) -> Result<Lock, Failure> {
        let path = directory.join("lock");
        let file = File::create(&path).map_err(at(&path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                step("waiting for another run");
                file.lock().map_err(at(&path))?;
            }
            Err(TryLockError::Error(error)) => return Err(at(&path)(error)),
        }
        Ok(Lock { _file: file })
    }
}
