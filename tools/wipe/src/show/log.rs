//! Lines with times, for logs: every event, and now and then the progress of each drive and the totals.

use std::collections::HashMap;
use std::mem::{Discriminant, discriminant};
use std::time::Duration;

use jiff::Timestamp;
use squall_tool_base::text::in_a_line;
use squall_tool_base::{Failure, units};

use super::row::Row;
use super::run::Run;
use super::{Out, STOPPING, View, table};
use crate::progress::EventKind;
use crate::record::{Extent, Job, Outcome};

/// Time between two progress lines of a drive.
const INTERVAL: Duration = Duration::from_secs(30);

pub struct Log<'a> {
    out: Out<'a>,
    words: Words,
    last: Duration,
}

impl<'a> Log<'a> {
    pub fn new(out: Out<'a>) -> Log<'a> {
        let (words, last) = (Words::default(), Duration::ZERO);
        Log { out, words, last }
    }

    fn line(&mut self, now: Timestamp, text: &str) -> Result<(), Failure> {
        (self.out)(&format!("{now:.0} {text}\n"))
    }
}

impl View for Log<'_> {
    fn begin(&mut self, now: Timestamp, job: &Job) -> Result<(), Failure> {
        let targets = match job.drives.len() {
            1 => "1 target".into(),
            count => format!("{count} targets"),
        };
        let (id, plan) = (&job.id, job.plan.text());
        self.line(now, &format!("job {id}: {targets}, to be {plan}"))
    }

    fn event(&mut self, now: Timestamp, row: &Row, what: &EventKind) -> Result<(), Failure> {
        let text = match what {
            EventKind::Pass { number, offset } => Some(begins(&row.pass(*number), *offset)),
            EventKind::Verification { number, offset } => {
                Some(begins(&row.verification(*number), *offset))
            }
            _ => self.words.line(row, what),
        };
        match text {
            Some(text) => self.line(now, &format!("{}: {text}", name(row))),
            None => Ok(()),
        }
    }

    fn remark(&mut self, now: Timestamp, line: &str) -> Result<(), Failure> {
        self.line(now, &in_a_line(line))
    }

    fn stopping(&mut self, now: Timestamp) -> Result<(), Failure> {
        self.line(now, STOPPING)
    }

    fn tick(&mut self, now: Timestamp, age: Duration, run: &Run) -> Result<(), Failure> {
        if age.saturating_sub(self.last) < INTERVAL {
            return Ok(());
        }
        self.last = age;
        self.answer(now, run)
    }

    fn answer(&mut self, now: Timestamp, run: &Run) -> Result<(), Failure> {
        lines(run).try_for_each(|line| self.line(now, &line))
    }

    fn end(&mut self, now: Timestamp, job: &Job, run: &Run) -> Result<(), Failure> {
        self.line(now, &format!("job {}: ended", job.id))?;
        (self.out)(&table::table(job, &run.totals(), None))
    }
}

/// How far each drive is that does something, and the totals.
pub fn lines(run: &Run) -> impl Iterator<Item = String> {
    let rows = run.rows.iter();
    let at_work = rows.filter(|row| row.is_at_work() || row.is_purging());
    let lines = at_work.map(|row| format!("{}: {}", name(row), progress(row)));
    let totals = format!("total: {}", run.totals().texts().join(", "));
    lines.chain([totals])
}

fn begins(name: &str, offset: u64) -> String {
    match offset {
        0 => format!("{name} begins"),
        _ => format!("{name} resumes at {offset}"),
    }
}

/// A drive's name, with its serial number if it has one.
fn name(row: &Row) -> String {
    match &row.serial {
        Some(serial) => format!("{} ({serial})", row.target),
        None => row.target.clone(),
    }
}

fn progress(row: &Row) -> String {
    let [now, average] = [row.now(), row.meter.average()].map(|rate| rate.map(units::rate));
    let parts = [
        Some(row.phase()),
        Some(format!("{} %", row.percent())),
        now.map(|rate| format!("{rate} now")),
        average.map(|rate| format!("{rate} average")),
        row.left().text(),
        row.errors(),
        row.celsius().map(|celsius| format!("{celsius:.0} °C")),
    ];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    parts.join(", ")
}

/// The most lines of a kind for a drive. The drive's report has all.
const MOST: u32 = 20;

/// How many lines about each kind of event each drive has had, of those that are limited.
#[derive(Debug, Default)]
pub struct Words {
    said: HashMap<(usize, Discriminant<EventKind>), u32>,
}

impl Words {
    /// The line about `what`, without the drive's name; `None` for no line, or past the limit.
    pub fn line(&mut self, row: &Row, what: &EventKind) -> Option<String> {
        let line = match what {
            EventKind::Unwritten(extent) => place(extent, "could not be overwritten"),
            EventKind::Unreadable(extent) => place(extent, "could not be read"),
            EventKind::Differing(extent) => place(extent, "not as written"),
            EventKind::Note { text } => in_a_line(text),
            EventKind::Attached { identity } => {
                return Some(format!("plugged in, {}", units::volume(identity.size)));
            }
            EventKind::Ended(Outcome::Failed { reason }) => {
                return Some(format!("failed: {}", in_a_line(reason)));
            }
            EventKind::Ended(outcome) => return Some(outcome.word().into()),
            EventKind::Purge { means } => return Some(format!("erases itself: {}", means.name())),
            EventKind::Purged { means, failure } => {
                let name = means.name();
                return Some(match failure {
                    Some(why) => format!("{name} failed: {}", in_a_line(why)),
                    None => format!("{name} done"),
                });
            }
            EventKind::Purging { .. }
            | EventKind::Pass { .. }
            | EventKind::Verification { .. }
            | EventKind::Checkpoint { .. } => return None,
        };
        let said = self.said.entry((row.number, discriminant(what)));
        let said = said.or_default();
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
