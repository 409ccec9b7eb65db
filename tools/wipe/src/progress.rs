//! The progress of a drive's thread, which any thread may read at any time.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a drive is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// The drive has not begun.
    #[default]
    Waiting,
    /// The drive sanitizes itself. The phase is counted in parts of the whole, not in bytes.
    Purging,
    /// The drive is overwritten, in the pass of this number, counted from 1.
    Writing(u32),
    /// The drive is read back and compared with what the pass of this number has written.
    Verifying(u32),
    /// The drive has ended, whatever the outcome.
    Ended,
}

impl Phase {
    /// Whether bytes are written or read.
    pub fn is_at_work(self) -> bool {
        matches!(self, Phase::Writing(_) | Phase::Verifying(_))
    }
}

/// What a drive has done at a moment: its phase, and bytes moved and refused. `None` if nothing was asked of it.
pub type Sign = Option<(Phase, u64, u64)>;

/// The progress of one drive.
#[derive(Debug, Default)]
pub struct Progress {
    /// Held only to read or change it.
    now: Mutex<Snapshot>,
    /// Whether the drive waits for this program, and not the other way round.
    is_our_turn: AtomicBool,
}

/// Progress as it was at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Snapshot {
    pub phase: Phase,
    /// Bytes of the phase that are done, including refused ones.
    pub done: u64,
    /// Bytes of the whole phase.
    pub total: u64,
    /// Bytes written and read in all phases, for rates.
    pub moved: u64,
    /// Bytes that could not be written or read.
    pub refused: u64,
    /// Bytes that differ.
    pub differing: u64,
    /// The drive's temperature as it has last answered, in degrees Celsius.
    pub celsius: Option<f64>,
}

impl Progress {
    fn now(&self) -> MutexGuard<'_, Snapshot> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The progress as it is now.
    pub fn read(&self) -> Snapshot {
        *self.now()
    }

    /// Begins a phase, of which `done` bytes of `total` are done already.
    pub fn begin(&self, phase: Phase, done: u64, total: u64) {
        let mut now = self.now();
        (now.phase, now.done, now.total) = (phase, done, total);
    }

    /// Marks all phases as over.
    pub fn end(&self) {
        self.now().phase = Phase::Ended;
    }

    /// Counts `bytes` that were written or read.
    pub fn moved(&self, bytes: u64) {
        let mut now = self.now();
        now.moved += bytes;
        now.done += bytes;
    }

    /// Counts `bytes` that were refused.
    pub fn refused(&self, bytes: u64) {
        let mut now = self.now();
        now.refused += bytes;
        now.done += bytes;
    }

    /// Counts `bytes` that differ.
    pub fn differing(&self, bytes: u64) {
        self.now().differing += bytes;
    }

    pub fn set_temperature(&self, celsius: Option<f64>) {
        self.now().celsius = celsius;
    }

    /// Does `work`, for which the drive has to wait: that is no stall.
    pub fn our_turn<T>(&self, work: impl FnOnce() -> T) -> T {
        self.is_our_turn.store(true, Relaxed);
        let result = work();
        self.is_our_turn.store(false, Relaxed);
        result
    }

    /// A value that changes as long as the drive does what is asked of it. `None` if nothing is asked of it, or its
    /// own erase, which may take hours.
    pub fn sign_of_life(&self) -> Sign {
        let now = self.read();
        let waits = now.phase.is_at_work() && !self.is_our_turn.load(Relaxed);
        waits.then_some((now.phase, now.moved, now.refused))
    }
}
