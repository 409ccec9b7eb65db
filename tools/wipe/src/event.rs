//! What happens to a drive, as its thread tells it.

use std::sync::mpsc::Sender;

use crate::record::{Extent, Means, Outcome};

/// Something that happened to the drive of this number, from 0 on.
#[derive(Clone, Debug)]
pub struct Event {
    /// Which drive.
    pub drive: usize,
    /// What.
    pub what: EventKind,
}

/// What happened.
#[derive(Clone, Debug)]
pub enum EventKind {
    /// The drive begins to erase itself.
    Purge(Means),
    /// It has ended doing so.
    Purged {
        /// By what.
        means: Means,
        /// Why it failed, if it did.
        failure: Option<String>,
    },
    /// A pass began, from 1 on, at this offset.
    Pass {
        /// Which.
        number: u32,
        /// Where.
        offset: u64,
    },
    /// The verification began, at this offset.
    Verification {
        /// Where.
        offset: u64,
    },
    /// Everything before this offset is flushed and recorded.
    Checkpoint {
        /// Where.
        offset: u64,
    },
    /// Bytes that could not be overwritten.
    Unwritten(Extent),
    /// Bytes that could not be read.
    Unreadable(Extent),
    /// Bytes that differ.
    Differing(Extent),
    /// Something else to be known, as a sentence.
    Note(String),
    /// It ended.
    Ended(Outcome),
}

/// Where the thread of one drive tells what happens.
#[derive(Clone, Debug)]
pub struct EventSender {
    drive: usize,
    to: Sender<Event>,
}

impl EventSender {
    /// For the drive of this number.
    pub fn new(drive: usize, to: Sender<Event>) -> EventSender {
        EventSender { drive, to }
    }

    /// Tells.
    pub fn tell(&self, what: EventKind) {
        let drive = self.drive;
        // Whoever listens has ended only if the whole run has.
        let _ = self.to.send(Event { drive, what });
    }
}
