//! Signals from the user: an interrupt of a long run, which then ends between two steps, and a question about its
//! progress. Those of the limits that are set for a process, too.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use signal_hook::SigId;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU, SIGXFSZ};
use signal_hook::low_level::unregister;

use crate::Failure;
use crate::failure::cause;
use crate::inherited::is_ignored;

/// Signals that interrupt the work.
pub(crate) const INTERRUPTS: [i32; 4] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT];

/// The signal that passes them on to a child. SIGUSR1 is passed on as it is: see [`Inquiry`].
pub(crate) const TOLD: i32 = SIGUSR2;

/// Whether this process is the child of [in_child](crate::in_child).
pub(crate) static IS_CHILD: AtomicBool = AtomicBool::new(false);

/// What ends this process at SIGXCPU, unless the run is to end between two steps.
static END_OF_TIME: OnceLock<SigId> = OnceLock::new();

/// Notes SIGINT, SIGTERM, SIGHUP and SIGQUIT, unless they were ignored before; a second signal ends the process at once.
/// Work that runs [in a child](crate::in_child) notes what the process that waits for it passes on. SIGXCPU is noted too,
/// and is no first signal: the kernel repeats it every second until the limit that nobody survives.
#[derive(Clone, Debug)]
pub struct Interrupt {
    noted: Arc<AtomicBool>,
    is_out_of_time: Arc<AtomicBool>,
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
        for signal in interrupts() {
            register(signal).map_err(|error| cannot(signal, error))?;
        }
        let is_out_of_time = Arc::new(AtomicBool::new(false));
        note(SIGXCPU, &is_out_of_time).map_err(|error| cannot(SIGXCPU, error))?;
        END_OF_TIME.get().copied().map(unregister);
        Ok(Interrupt {
            noted,
            is_out_of_time,
            consequence,
        })
    }

    pub fn is_noted(&self) -> bool {
        self.noted.load(Ordering::Relaxed) || self.is_out_of_time.load(Ordering::Relaxed)
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
/// [in a child](crate::in_child) is asked as well, if `watch` was called before it started.
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
/// process (SIGXFSZ), and a CPU time that is used up (RLIMIT_CPU) ends it with a line in the name of `command`. In a program
/// that is executed, both limits have their usual effect again.
pub fn report_limits(command: &str) {
    // If that fails, the limits have their usual effect.
    let _ = note(SIGXFSZ, &Arc::default());
    let line = format!("{command}: the CPU time is used up (see `ulimit -S -t`)\n");
    if !is_ignored(SIGXCPU)
        && let Ok(end) = end_with(SIGXCPU, line)
    {
        let _ = END_OF_TIME.set(end);
    }
}

/// Ends this process at `signal`, after this line on standard error.
#[allow(unsafe_code, reason = "a handler makes system calls")]
fn end_with(signal: i32, line: String) -> io::Result<SigId> {
    let end = move || {
        // SAFETY: the line is readable for its length, and both calls may be made in a handler.
        unsafe {
            libc::write(libc::STDERR_FILENO, line.as_ptr().cast(), line.len());
            libc::_exit(1)
        }
    };
    // SAFETY: the action makes only these two calls.
    unsafe { signal_hook::low_level::register(signal, end) }
}

/// The signals that interrupt this process's work: those that it does not ignore.
pub(crate) fn interrupts() -> Vec<i32> {
    let mut signals = match IS_CHILD.load(Ordering::Relaxed) {
        true => return vec![TOLD],
        false => INTERRUPTS.to_vec(),
    };
    signals.retain(|signal| !is_ignored(*signal));
    signals
}

/// Sets `flag` at each `signal`, unless it was ignored before.
pub(crate) fn note(signal: i32, flag: &Arc<AtomicBool>) -> io::Result<()> {
    match is_ignored(signal) {
        true => Ok(()),
        false => signal_hook::flag::register(signal, flag.clone()).map(drop),
    }
}

#[cfg(test)]
mod tests {
    use signal_hook::low_level::raise;

    use super::*;

    /// A second signal would end the tests.
    #[test]
    fn a_used_up_cpu_time_is_no_first_signal() {
        let interrupt = Interrupt::watch("a test").expect("signals");
        assert!(interrupt.check().is_ok());
        raise(SIGXCPU).expect("a signal");
        assert!(interrupt.is_noted());
        raise(SIGTERM).expect("a signal");
        assert!(interrupt.check().is_err());
    }
}
