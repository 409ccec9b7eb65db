//! Lets the user ask a long run for its progress.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::SIGUSR1;

use crate::Failure;
use crate::failure::cause;
use crate::inherited::is_ignored;

/// Notes SIGUSR1, on which dd(1) reports its progress too, unless it was ignored before. Work that runs
/// [in_child](crate::in_child) is asked as well, if `watch` was called before it started.
#[derive(Clone, Debug)]
pub struct Inquiry(Arc<AtomicBool>);

impl Inquiry {
    /// Starts to watch for the signal.
    pub fn watch() -> Result<Inquiry, Failure> {
        let noted = Arc::new(AtomicBool::new(false));
        if !is_ignored(SIGUSR1) {
            signal_hook::flag::register(SIGUSR1, noted.clone())
                .map_err(|error| Failure::Runtime(format!("SIGUSR1: {}", cause(&error))))?;
        }
        Ok(Inquiry(noted))
    }

    /// Whether the user has asked since the last call.
    pub fn take(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }
}
