//! The progress of a drive's thread, as numbers that any thread may read at any time without making
//! it wait.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a drive is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The drive has not begun.
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

/// What a drive has done at a moment; `None` if nothing was asked of it.
pub type Sign = Option<[u64; 3]>;

/// The progress of one drive.
#[derive(Debug, Default)]
pub struct Progress {
    /// A [`Phase`] as a number: its kind, and [`KINDS`] times the number of the pass.
    phase: AtomicU32,
    /// Bytes of the phase that are done, including refused ones.
    done: AtomicU64,
    /// Bytes of the whole phase.
    total: AtomicU64,
    /// Bytes written and read in all phases, for rates.
    moved: AtomicU64,
    /// Bytes that could not be written or read.
    refused: AtomicU64,
    /// Bytes that differ.
    differing: AtomicU64,
    /// Whether the drive waits for this program, and not the other way round.
    is_our_turn: AtomicBool,
    /// The drive's temperature, in degrees Celsius, as it has last answered.
    celsius: Mutex<Option<f64>>,
}

/// Progress as it was at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Snapshot {
    /// What the drive is doing.
    pub phase: Phase,
    /// Bytes of the phase that are done, including refused ones.
    pub done: u64,
    /// Bytes of the whole phase.
    pub total: u64,
    /// Bytes written and read in all phases.
    pub moved: u64,
    /// Bytes that could not be written or read.
    pub refused: u64,
    /// Bytes that differ.
    pub differing: u64,
    /// The drive's temperature, in degrees Celsius, if it is known.
    pub celsius: Option<f64>,
}

impl Progress {
    /// Begins a phase, of which `done` bytes of `total` are done already.
    pub fn begin(&self, phase: Phase, done: u64, total: u64) {
        self.done.store(done, Relaxed);
        self.total.store(total, Relaxed);
        self.phase.store(word(phase), Relaxed);
    }

    /// Marks all phases as over.
    pub fn end(&self) {
        self.phase.store(word(Phase::Ended), Relaxed);
    }

    /// Counts `bytes` that were written or read.
    pub fn moved(&self, bytes: u64) {
        self.moved.fetch_add(bytes, Relaxed);
        self.done.fetch_add(bytes, Relaxed);
    }

    /// Counts `bytes` that were refused.
    pub fn refused(&self, bytes: u64) {
        self.refused.fetch_add(bytes, Relaxed);
        self.done.fetch_add(bytes, Relaxed);
    }

    /// Counts `bytes` that differ.
    pub fn differing(&self, bytes: u64) {
        self.differing.fetch_add(bytes, Relaxed);
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
        let word = self.phase.load(Relaxed);
        let waits = phase(word).is_at_work() && !self.is_our_turn.load(Relaxed);
        let done = [&self.moved, &self.refused].map(|bytes| bytes.load(Relaxed));
        waits.then_some([word.into(), done[0], done[1]])
    }

    /// The drive's temperature, to be read or set.
    pub fn celsius(&self) -> MutexGuard<'_, Option<f64>> {
        self.celsius.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The progress as it is now.
    pub fn read(&self) -> Snapshot {
        Snapshot {
            phase: phase(self.phase.load(Relaxed)),
            done: self.done.load(Relaxed),
            total: self.total.load(Relaxed),
            moved: self.moved.load(Relaxed),
            refused: self.refused.load(Relaxed),
            differing: self.differing.load(Relaxed),
            celsius: *self.celsius(),
        }
    }
}

/// The number of kinds of phases.
const KINDS: u32 = 5;

fn word(phase: Phase) -> u32 {
    match phase {
        Phase::Waiting => 0,
        Phase::Ended => 1,
        Phase::Purging => 2,
        Phase::Writing(pass) => 3 + KINDS * pass,
        Phase::Verifying(pass) => 4 + KINDS * pass,
    }
}

fn phase(word: u32) -> Phase {
    match word % KINDS {
        0 => Phase::Waiting,
        1 => Phase::Ended,
        2 => Phase::Purging,
        3 => Phase::Writing(word / KINDS),
        _ => Phase::Verifying(word / KINDS),
    }
}
