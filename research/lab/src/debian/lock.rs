//! A lock, so that only one process changes the cache at a time.

use std::fs::{File, TryLockError};
use std::path::Path;

use squall_tools::Failure;
use squall_tools::failure::at;

use super::programs::step;

/// Held by the process that changes the cache. The system releases it when the process dies.
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Waits until no other process changes the cache in `directory`, and takes the lock.
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
