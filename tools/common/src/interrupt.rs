//! Signals from the user: an interrupt of a long run, which then ends between two steps, and a question about its
//! progress.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGUSR1, SIGXCPU, SIGXFSZ};

use crate::failure::cause;
use crate::inherited::is_ignored;
use crate::{Failure, in_child};

/// Notes SIGINT, SIGTERM, SIGHUP and SIGQUIT, unless they were ignored before; a second signal ends the process at once.
/// Work that runs [in_child] notes what the process that waits for it passes on. SIGXCPU is noted too: the kernel repeats
/// it every second until the limit that nobody survives.
#[derive(Clone, Debug)]
pub struct Interrupt {
    noted: Arc<AtomicBool>,
    consequence: &'static str,
}

impl Interrupt {
    /// Starts to watch for signals; `consequence` says what happens to the run.
    pub fn watch(consequence: &'static str) -> Result<Interrupt, Failure> {
        let noted = Arc::new(AtomicBool::new(false));
        let register = |signal| -> io::Result<()> {
            signal_hook::flag::register_conditional_shutdown(signal, 1, noted.clone())?;
            signal_hook::flag::register(signal, noted.clone())?;
            Ok(())
        };
        let cannot = |signal, error| Failure::Runtime(format!("signal {signal}: {error}"));
        for signal in in_child::interrupts() {
            register(signal).map_err(|error| cannot(signal, error))?;
        }
        note(SIGXCPU, &noted).map_err(|error| cannot(SIGXCPU, error))?;
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

/// Notes SIGUSR1, on which dd(1) reports its progress too, unless it was ignored before. Work that runs
/// [in_child] is asked as well, if `watch` was called before it started.
#[derive(Clone, Debug)]
pub struct Inquiry(Arc<AtomicBool>);

impl Inquiry {
    /// Starts to watch for the signal.
    pub fn watch() -> Result<Inquiry, Failure> {
        let noted = Arc::new(AtomicBool::new(false));
        note(SIGUSR1, &noted)
            .map_err(|error| Failure::Runtime(format!("SIGUSR1: {}", cause(&error))))?;
        Ok(Inquiry(noted))
    }

    /// Whether the user has asked since the last call.
    pub fn take(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }
}

/// From now on, a write beyond the longest file that this process may make (RLIMIT_FSIZE) fails, instead of ending the
/// process (SIGXFSZ). A program that is executed has the usual effect again.
pub fn outlive_file_limit() {
    // If that fails, the limit has its usual effect.
    let _ = note(SIGXFSZ, &Arc::default());
}

/// Sets `flag` at each `signal`, unless it was ignored before.
pub(crate) fn note(signal: i32, flag: &Arc<AtomicBool>) -> io::Result<()> {
    match is_ignored(signal) {
        true => Ok(()),
        false => signal_hook::flag::register(signal, flag.clone()).map(drop),
    }
}
