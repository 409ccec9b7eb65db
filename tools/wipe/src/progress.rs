//! What a drive's thread tells the others: its progress, which any thread may read at any time, and events, which it
//! sends to the thread that shows them. `--json` writes them as they are.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::Sender;
use std::sync::{Mutex, MutexGuard, PoisonError};

use schemars::JsonSchema;
use serde::Serialize;
use squall_drives::Identity;

use crate::record::{EraseMethod, Extent, Outcome};

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
    pub differing: u64,
    /// The drive's temperature as it has last answered, in degrees Celsius.
    pub celsius: Option<f64>,
}

impl Progress {
    fn now(&self) -> MutexGuard<'_, Snapshot> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn read(&self) -> Snapshot {
        *self.now()
    }

    /// Begins a phase, of which `done` bytes of `total` are done already.
    pub fn begin(&self, phase: Phase, done: u64, total: u64) {
        let mut now = self.now();
        (now.phase, now.done, now.total) = (phase, done, total);
    }

    pub fn end(&self) {
        self.now().phase = Phase::Ended;
    }

    pub fn moved(&self, bytes: u64) {
        let mut now = self.now();
        now.moved += bytes;
        now.done += bytes;
    }

    pub fn refused(&self, bytes: u64) {
        let mut now = self.now();
        now.refused += bytes;
        now.done += bytes;
    }

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

#[derive(Clone, Debug)]
pub struct Event {
    /// The drive's number in the job, counted from 0.
    pub drive: usize,
    pub what: EventKind,
}

/// What happened to a drive.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum EventKind {
    /// The drive was plugged in, and is a part of the job now (`--watch`).
    Attached { identity: Box<Identity> },
    /// The drive begins to erase itself.
    Purge {
        /// How the drive erases itself.
        means: EraseMethod,
    },
    /// The drive is this far in sanitizing itself.
    Purging {
        /// The part that is done, as a numerator.
        done: u64,
        /// Its denominator, 65536.
        total: u64,
    },
    /// The drive's own erase has ended.
    Purged {
        /// How the drive erased itself.
        means: EraseMethod,
        /// Why it failed, if it did.
        failure: Option<String>,
    },
    /// A pass has begun, or goes on after an interruption.
    Pass {
        /// The number of the pass, counted from 1.
        #[schemars(range(min = 1))]
        number: u32,
        /// The offset at which it begins.
        offset: u64,
    },
    /// The verification of a pass has begun, or goes on after an interruption.
    Verification {
        /// The number of the pass, counted from 1.
        #[schemars(range(min = 1))]
        number: u32,
        /// The offset at which it begins.
        offset: u64,
    },
    /// Everything before an offset is flushed and recorded.
    Checkpoint { offset: u64 },
    /// Bytes that could not be overwritten.
    Unwritten(Extent),
    /// Bytes that could not be read.
    Unreadable(Extent),
    /// Bytes that differ from what was written.
    Differing(Extent),
    /// A remark.
    Note {
        /// A sentence.
        text: String,
    },
    /// The drive's part of the job has ended.
    Ended(Outcome),
}

#[derive(Clone, Debug)]
pub struct EventSender {
    drive: usize,
    to: Sender<Event>,
}

impl EventSender {
    pub fn new(drive: usize, to: Sender<Event>) -> EventSender {
        EventSender { drive, to }
    }

    pub fn send(&self, what: EventKind) {
        let drive = self.drive;
        // Sending fails only if the receiver is gone, and then the whole run has ended.
        let _ = self.to.send(Event { drive, what });
    }
}
