//! Describes events for people, one line each, and limits the number of lines of a kind.

use std::collections::BTreeMap;

use crate::record::{EraseMethod, Extent, Outcome};
use squall_tools::text::in_a_line;
use squall_tools::units;

use super::row::{Row, word};
use crate::event::EventKind;

/// The most lines of a kind for a drive. The drive's report has all.
const MOST: u32 = 20;

/// The kinds of lines that are limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Unwritten,
    Unreadable,
    Differing,
    Note,
}

/// How many lines of each kind each drive has had.
#[derive(Debug, Default)]
pub struct Words {
    said: BTreeMap<(usize, Kind), u32>,
}

impl Words {
    /// The line about `what`, without the drive's name; `None` for no line, or past the limit.
    pub fn of(&mut self, row: &Row, what: &EventKind) -> Option<String> {
        let (kind, line) = match what {
            EventKind::Unwritten(extent) => {
                (Kind::Unwritten, place(extent, "could not be overwritten"))
            }
            EventKind::Unreadable(extent) => (Kind::Unreadable, place(extent, "could not be read")),
            EventKind::Differing(extent) => (Kind::Differing, place(extent, "not as written")),
            EventKind::Note { text } => (Kind::Note, in_a_line(text)),
            EventKind::Attached { identity } => {
                return Some(format!("plugged in, {}", units::volume(identity.size)));
            }
            EventKind::Ended(outcome) => return Some(end(outcome)),
            EventKind::Purge { means } => return Some(format!("erases itself: {}", means.name())),
            EventKind::Purged { means, failure } => {
                return Some(purged(*means, failure.as_deref()));
            }
            EventKind::Purging { .. }
            | EventKind::Pass { .. }
            | EventKind::Verification { .. }
            | EventKind::Checkpoint { .. } => return None,
        };
        let said = self.said.entry((row.number, kind)).or_default();
        *said = said.saturating_add(1);
        match *said {
            ..MOST => Some(line),
            MOST => Some(line + "; further ones are in the report"),
            _ => None,
        }
    }
}

fn place(extent: &Extent, what: &str) -> String {
    format!("{} B at {} {what}", extent.length, extent.offset)
}

fn purged(means: EraseMethod, failure: Option<&str>) -> String {
    let name = means.name();
    match failure {
        Some(why) => format!("{name} failed: {}", in_a_line(why)),
        None => format!("{name} done"),
    }
}

fn end(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Failed { reason } => format!("failed: {}", in_a_line(reason)),
        _ => word(outcome).into(),
    }
}
