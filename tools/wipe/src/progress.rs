//! What a drive's thread shows of itself while it works: numbers that anybody may read at any
//! time, and nothing waits for.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// What a drive is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It has not begun.
    Waiting,
    /// It is overwritten, for the so-manieth time, from 1 on.
    Writing(u32),
    /// It is compared.
    Verifying,
    /// It has ended, one way or another.
    Ended,
}

/// How far a drive is.
#[derive(Debug, Default)]
pub struct Progress {
    /// A [`Phase`] as a word: 0 waiting, 1 verifying, 2 ended, 3 and more pass 1 and more.
    phase: AtomicU32,
    /// Bytes of the phase that are dealt with.
    done: AtomicU64,
    /// Bytes that the phase has.
    total: AtomicU64,
    /// Bytes that went to the drive or came from it, in all phases, for rates.
    moved: AtomicU64,
    /// Bytes that could not be written or read.
    refused: AtomicU64,
    /// Bytes that differ.
    differing: AtomicU64,
}

/// Progress as it was at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// What the drive is doing.
    pub phase: Phase,
    /// Bytes of the phase that are dealt with.
    pub done: u64,
    /// Bytes that the phase has.
    pub total: u64,
    /// Bytes that went to the drive or came from it, in all phases.
    pub moved: u64,
    /// Bytes that could not be written or read.
    pub refused: u64,
    /// Bytes that differ.
    pub differing: u64,
}

impl Progress {
    /// A phase begins, of which `done` bytes of `total` are dealt with.
    pub fn begin(&self, phase: Phase, done: u64, total: u64) {
        self.done.store(done, Relaxed);
        self.total.store(total, Relaxed);
        self.phase.store(word(phase), Relaxed);
    }

    /// All phases are over.
    pub fn end(&self) {
        self.phase.store(word(Phase::Ended), Relaxed);
    }

    /// So many more bytes were written or read.
    pub fn moved(&self, bytes: u64) {
        self.moved.fetch_add(bytes, Relaxed);
        self.done.fetch_add(bytes, Relaxed);
    }

    /// So many more bytes were refused.
    pub fn refused(&self, bytes: u64) {
        self.refused.fetch_add(bytes, Relaxed);
        self.done.fetch_add(bytes, Relaxed);
    }

    /// So many more bytes differ.
    pub fn differing(&self, bytes: u64) {
        self.differing.fetch_add(bytes, Relaxed);
    }

    /// How far it is.
    pub fn read(&self) -> Snapshot {
        Snapshot {
            phase: phase(self.phase.load(Relaxed)),
            done: self.done.load(Relaxed),
            total: self.total.load(Relaxed),
            moved: self.moved.load(Relaxed),
            refused: self.refused.load(Relaxed),
            differing: self.differing.load(Relaxed),
        }
    }
}

fn word(phase: Phase) -> u32 {
    match phase {
        Phase::Waiting => 0,
        Phase::Verifying => 1,
        Phase::Ended => 2,
        Phase::Writing(pass) => 2 + pass,
    }
}

fn phase(word: u32) -> Phase {
    match word {
        0 => Phase::Waiting,
        1 => Phase::Verifying,
        2 => Phase::Ended,
        _ => Phase::Writing(word - 2),
    }
}
