//! Events, which a drive's thread sends to the thread that shows them. `--json` writes them as they are.

use std::sync::mpsc::Sender;

use schemars::JsonSchema;
use serde::Serialize;
use squall_drives::Identity;

use crate::record::{EraseMethod, Extent, Outcome};

/// Something that happened to a drive.
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

/// Sends the events of one drive.
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
