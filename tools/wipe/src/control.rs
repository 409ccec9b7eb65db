//! What others ask of a drive's thread: to stop, because the user stops the run or skips the drive, or to count for
//! nothing any more, because the drive was given up while the thread waited for it.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use squall_tools::Interrupt;

/// Requests to the thread of one drive.
#[derive(Debug)]
pub struct Control {
    run: Interrupt,
    is_skipped: AtomicBool,
    is_given_up: AtomicBool,
}

impl Control {
    /// For a drive of a run that `run` stops.
    pub fn new(run: Interrupt) -> Control {
        Control {
            run,
            is_skipped: AtomicBool::new(false),
            is_given_up: AtomicBool::new(false),
        }
    }

    /// Whether the thread is to stop at its next checkpoint.
    pub fn is_noted(&self) -> bool {
        self.run.is_noted() || self.is_skipped.load(Relaxed) || self.is_given_up()
    }

    /// Asks the thread to stop; tells whether it was asked before.
    pub fn skip(&self) -> bool {
        self.is_skipped.swap(true, Relaxed)
    }

    /// From now on, what the thread records counts for nothing.
    pub fn give_up(&self) {
        self.is_given_up.store(true, Relaxed);
    }

    pub fn is_given_up(&self) -> bool {
        self.is_given_up.load(Relaxed)
    }
}
