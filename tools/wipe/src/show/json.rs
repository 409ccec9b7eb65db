//! Events for programs: one JSON object on each line. `schema/wipe-events.schema.json` describes them.

mod line;

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use squall_drives::Identity;
use squall_tools::Failure;

use crate::event::EventKind;
use crate::progress::Phase;
use crate::record::{Drive, Extent, Job};

pub use line::{Name, line};

use super::meter::Left;
use super::row::{Row, dealt_with};
use super::run::Run;
use super::{Out, View, text};

/// Name and version of this layout.
pub const FORMAT: &str = "squall-wipe-events/1";

/// Time between two progress events of a drive.
const INTERVAL: Duration = Duration::from_secs(1);

/// The view that writes JSON objects.
pub struct Json<'a> {
    out: Out<'a>,
    last: Option<Duration>,
}

impl<'a> Json<'a> {
    /// A view that writes to `out`.
    pub fn new(out: Out<'a>) -> Json<'a> {
        Json { out, last: None }
    }

    fn line(
        &mut self,
        now: Timestamp,
        name: Name,
        row: Option<&Row>,
        more: Value,
    ) -> Result<(), Failure> {
        (self.out)(&line(now, name, row, more)?)
    }
}

impl View for Json<'_> {
    fn begin(&mut self, now: Timestamp, job: &Job) -> Result<(), Failure> {
        let drives: Vec<_> = job
            .drives
            .iter()
            .map(|drive| identity(&drive.target))
            .collect();
        let more = json!({
            "format": FORMAT, "job": job.id, "tool": job.tool, "plan": job.plan, "drives": drives,
        });
        self.line(now, Name::Begin, None, more)
    }

    fn event(&mut self, now: Timestamp, row: &Row, what: &EventKind) -> Result<(), Failure> {
        let (name, more) = match what {
            EventKind::Purge(means) => (Name::Purge, json!({ "means": means })),
            EventKind::Purged { means, failure } => {
                (Name::Purged, json!({ "means": means, "failure": failure }))
            }
            EventKind::Pass { number, offset } => {
                (Name::Pass, json!({ "number": number, "offset": offset }))
            }
            EventKind::Verification { offset } => (Name::Verification, json!({ "offset": offset })),
            EventKind::Checkpoint { offset } => (Name::Checkpoint, json!({ "offset": offset })),
            EventKind::Unwritten(extent) => (Name::Unwritten, place(extent)),
            EventKind::Unreadable(extent) => (Name::Unreadable, place(extent)),
            EventKind::Differing(extent) => (Name::Differing, place(extent)),
            EventKind::Note(note) => (Name::Note, json!({ "text": note })),
            EventKind::Ended(outcome) => (Name::Ended, json!(outcome)),
        };
        self.line(now, name, Some(row), more)
    }

    fn stopping(&mut self, now: Timestamp) -> Result<(), Failure> {
        self.line(now, Name::Stopping, None, json!({}))
    }

    fn tick(&mut self, now: Timestamp, age: Duration, run: &Run) -> Result<(), Failure> {
        if self
            .last
            .is_some_and(|last| age.saturating_sub(last) < INTERVAL)
        {
            return Ok(());
        }
        self.last = Some(age);
        for row in run.rows.iter().filter(|row| row.is_at_work()) {
            self.line(now, Name::Progress, Some(row), progress(row))?;
        }
        Ok(())
    }

    fn end(&mut self, now: Timestamp, job: &Job, run: &Run) -> Result<(), Failure> {
        let totals = run.totals();
        let drives = job.drives.iter().zip(&run.rows);
        let drives: Vec<_> = drives.map(|(drive, row)| ending(drive, row)).collect();
        let more = json!({
            "job": job.id,
            "seconds": totals.seconds,
            "moved_bytes": totals.moved,
            "bytes_per_second": whole(totals.average()),
            "cpu_seconds": totals.cpu_seconds,
            "cpu_seconds_per_gb": totals.cpu_per_gb(),
            "drives": drives,
        });
        self.line(now, Name::End, None, more)
    }
}

/// How a drive ended: with a reason, if it failed.
fn ending(drive: &Drive, row: &Row) -> Value {
    let mut ending = json!({
        "drive": row.number,
        "target": row.target,
        "serial": row.serial,
        "outcome": null,
        "size": drive.target.size,
        "not_overwritten_bytes": drive.not_overwritten(),
        "dealt_with_bytes": dealt_with(drive),
    });
    if let (Value::Object(outcome), Some(ending)) = (json!(drive.outcome), ending.as_object_mut()) {
        ending.extend(outcome);
    }
    ending
}

/// An identity as in a record, with paths escaped to one line.
fn identity(identity: &Identity) -> Value {
    json!({
        "given": text::path(&identity.given), "path": text::path(&identity.path),
        "kind": identity.kind, "size": identity.size, "sector": identity.sector,
        "model": identity.model, "serial": identity.serial, "wwid": identity.wwid,
        "number": identity.number, "flash": identity.flash,
    })
}

fn place(extent: &Extent) -> Value {
    json!({ "offset": extent.offset, "length": extent.length })
}

fn progress(row: &Row) -> Value {
    let (phase, pass) = match row.reading.phase {
        Phase::Writing(number) => ("pass", Some(number)),
        _ => ("verification", None),
    };
    let left = row.left();
    let seconds_left = match left {
        Left::Seconds(seconds) => Some(seconds),
        Left::Stalled | Left::Unknown => None,
    };
    json!({
        "phase": phase,
        "pass": pass,
        "done": row.reading.done,
        "total": row.reading.total,
        "bytes_per_second": whole(row.now()),
        "average_bytes_per_second": whole(row.meter.average()),
        "seconds_left": whole(seconds_left),
        "stalled": left == Left::Stalled,
        "refused_bytes": row.reading.refused,
        "differing_bytes": row.reading.differing,
        "celsius": row.celsius,
    })
}

/// Rounded to whole bytes or seconds.
fn whole(value: Option<f64>) -> Option<u64> {
    value.map(|value| value.round() as u64)
}
