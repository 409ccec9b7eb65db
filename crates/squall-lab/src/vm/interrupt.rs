//! Ends an experiment between two steps when the user wants it to end.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use squall_command::Failure;

/// Notes SIGINT, SIGTERM and SIGHUP; a second one ends the process at once.
#[derive(Clone, Debug)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Begins to note them.
    pub fn watch() -> Result<Interrupt, Failure> {
        let noted = Arc::new(AtomicBool::new(false));
        let register = |signal| -> io::Result<()> {
            signal_hook::flag::register_conditional_shutdown(signal, 1, noted.clone())?;
            signal_hook::flag::register(signal, noted.clone())?;
            Ok(())
        };
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            register(signal)
                .map_err(|error| Failure::Runtime(format!("signal {signal}: {error}")))?;
        }
        Ok(Interrupt(noted))
    }

    /// A failure once one was noted.
    pub fn check(&self) -> Result<(), Failure> {
        match self.0.load(Ordering::Relaxed) {
            true => Err(Failure::Runtime(
                "interrupted: the machines are ended".into(),
            )),
            false => Ok(()),
        }
    }
}
