//! Lets the user interrupt a long run, which then ends between two steps.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::{Failure, in_child};

/// Notes SIGINT, SIGTERM and SIGHUP, unless they were ignored before; a second signal ends the process at once. Work that
/// runs [in_child] notes what the process that waits for it passes on.
#[derive(Clone, Debug)]
pub struct Interrupt {
    noted: Arc<AtomicBool>,
    consequence: &'static str,
}

impl Interrupt {
    /// Starts to watch for signals; `consequence` tells the user what happens to the run.
    pub fn watch(consequence: &'static str) -> Result<Interrupt, Failure> {
        let noted = Arc::new(AtomicBool::new(false));
        let register = |signal| -> io::Result<()> {
            signal_hook::flag::register_conditional_shutdown(signal, 1, noted.clone())?;
            signal_hook::flag::register(signal, noted.clone())?;
            Ok(())
        };
        for signal in in_child::interrupts() {
            register(signal)
                .map_err(|error| Failure::Runtime(format!("signal {signal}: {error}")))?;
        }
        Ok(Interrupt { noted, consequence })
    }

    pub fn is_noted(&self) -> bool {
        self.noted.load(Ordering::Relaxed)
    }

    /// Fails if a signal was noted.
    pub fn check(&self) -> Result<(), Failure> {
        if self.is_noted() {
            Err(Failure::Runtime(format!(
                "interrupted: {}",
                self.consequence
            )))
        } else {
            Ok(())
        }
    }
}
