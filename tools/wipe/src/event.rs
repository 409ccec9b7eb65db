//! Events, which a drive's thread sends to the thread that shows them.

use std::sync::mpsc::Sender;

use crate::record::{Extent, Means, Outcome};

/// Something that happened to a drive.
#[derive(Clone, Debug)]
pub struct Event {
    /// The drive's number in the job, counted from 0.
    pub drive: usize,
    /// What happened.
    pub what: EventKind,
}

/// What happened to a drive.
#[derive(Clone, Debug)]
pub enum EventKind {
    /// The drive begins to erase itself.
    Purge(Means),
    /// The drive's own erase has ended.
    Purged {
        /// How the drive erased itself.
        means: Means,
        /// Why it failed, if it did.
        failure: Option<String>,
    },
    /// A pass began.
    Pass {
        /// The number of the pass, counted from 1.
        number: u32,
        /// The offset at which it began.
        offset: u64,
    },
    /// The verification began.
    Verification {
        /// The offset at which it began.
        offset: u64,
    },
    /// A checkpoint was reached.
    Checkpoint {
        /// Everything before this offset is flushed and recorded.
        offset: u64,
    },
    /// Bytes that could not be overwritten.
    Unwritten(Extent),
    /// Bytes that could not be read.
    Unreadable(Extent),
    /// Bytes that differ from what was written.
    Differing(Extent),
    /// A remark, as a sentence.
    Note(String),
    /// The drive's part of the job ended.
    Ended(Outcome),
}

/// Sends the events of one drive.
#[derive(Clone, Debug)]
pub struct EventSender {
    drive: usize,
    to: Sender<Event>,
}

impl EventSender {
    /// A sender for the drive of this number.
    pub fn new(drive: usize, to: Sender<Event>) -> EventSender {
        EventSender { drive, to }
    }

    /// Sends an event.
    pub fn send(&self, what: EventKind) {
        let drive = self.drive;
        // Sending fails only if the receiver is gone, and then the whole run has ended.
        let _ = self.to.send(Event { drive, what });
    }
}
