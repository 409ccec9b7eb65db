//! One line of JSON: the event's name and time, its drive, and whatever else it has.

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;
use squall_tools::Failure;

use crate::show::row::Row;

/// The name of an event, as in the schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(strum::EnumIter))]
#[serde(rename_all = "kebab-case")]
pub enum Name {
    /// The plan of a dry run.
    Plan,
    /// A run begins.
    Begin,
    /// A drive begins to erase itself.
    Purge,
    /// A drive's own erase has ended.
    Purged,
    /// A pass begins.
    Pass,
    /// The verification begins.
    Verification,
    /// Everything before an offset is flushed and recorded.
    Checkpoint,
    /// How far a drive is.
    Progress,
    /// Bytes that could not be overwritten.
    Unwritten,
    /// Bytes that could not be read.
    Unreadable,
    /// Bytes that differ.
    Differing,
    /// A remark about a drive.
    Note,
    /// A drive's part of the job ended.
    Ended,
    /// The user has asked the run to stop.
    Stopping,
    /// A run ended.
    End,
    /// A report that could not be written to its file.
    Report,
}

/// A line, with the keys that all events have first.
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

/// The event `name` at time `now`, with the drive of `row` if it concerns one.
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
