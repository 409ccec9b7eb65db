//! A line: what the event is called, when it was, of which drive, and what else there is to tell.

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;
use squall_tools::Failure;

use crate::show::row::Row;

/// What an event is called. Its schema has the same ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(strum::EnumIter))]
#[serde(rename_all = "kebab-case")]
pub enum Name {
    /// What would be done: a dry run.
    Plan,
    /// A run begins.
    Begin,
    /// A drive begins to erase itself.
    Purge,
    /// It has ended doing so.
    Purged,
    /// A pass begins.
    Pass,
    /// The verification begins.
    Verification,
    /// Everything before is flushed and recorded.
    Checkpoint,
    /// How far a drive is.
    Progress,
    /// Bytes that could not be overwritten.
    Unwritten,
    /// Bytes that could not be read.
    Unreadable,
    /// Bytes that differ.
    Differing,
    /// Something else to be known.
    Note,
    /// A drive's part ended.
    Ended,
    /// The user has asked for the end.
    Stopping,
    /// A run ended.
    End,
    /// A report that could not be written to its place.
    Report,
}

/// Common keys come first.
#[derive(Serialize)]
struct Line<'a> {
    event: Name,
    at: String,
    #[serde(flatten)]
    drive: Option<Drive<'a>>,
    #[serde(flatten)]
    more: Value,
}

#[derive(Serialize)]
struct Drive<'a> {
    drive: usize,
    target: &'a str,
    serial: Option<&'a str>,
}

/// The event `name` at `now`, of the drive of a row if it is one's.
pub fn line(now: Timestamp, name: Name, row: Option<&Row>, more: Value) -> Result<String, Failure> {
    let line = Line {
        event: name,
        at: format!("{now:.3}"),
        drive: row.map(|row| Drive {
            drive: row.number,
            target: &row.target,
            serial: row.serial.as_deref(),
        }),
        more,
    };
    let text = serde_json::to_string(&line);
    let text = text.map_err(|error| Failure::Runtime(format!("event: {error}")))?;
    Ok(text + "\n")
}
