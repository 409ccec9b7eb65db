//! Events for programs: one JSON object on each line. [`Line`] describes them.

mod line;

use std::time::Duration;

use jiff::Timestamp;
use squall_tools::Failure;

use crate::event::EventKind;
use crate::progress::Phase;
use crate::record::Job;

use line::{Ending, PhaseName, Progress};
pub use line::{Event, FORMAT, Line};

use super::meter::Left;
use super::row::Row;
use super::run::Run;
use super::{Out, View};

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

    fn line(&mut self, now: Timestamp, event: Event) -> Result<(), Failure> {
        (self.out)(&Line::new(now, event).text()?)
    }
}

impl View for Json<'_> {
    fn begin(&mut self, now: Timestamp, job: &Job) -> Result<(), Failure> {
        let drives = job.drives.iter();
        let event = Event::Begin {
            format: FORMAT,
            job: &job.id,
            tool: &job.tool,
            plan: &job.plan,
            drives: drives.map(|drive| &drive.target).collect(),
        };
        self.line(now, event)
    }

    fn event(&mut self, now: Timestamp, row: &Row, what: &EventKind) -> Result<(), Failure> {
        let drive = row.into();
        self.line(now, Event::Drive { what, drive })
    }

    fn tell(&mut self, now: Timestamp, text: &str) -> Result<(), Failure> {
        self.line(now, Event::Remark { text })
    }

    fn stopping(&mut self, now: Timestamp) -> Result<(), Failure> {
        self.line(now, Event::Stopping)
    }

    fn tick(&mut self, now: Timestamp, age: Duration, run: &Run) -> Result<(), Failure> {
        if self
            .last
            .is_some_and(|last| age.saturating_sub(last) < INTERVAL)
        {
            return Ok(());
        }
        self.last = Some(age);
        self.answer(now, run)
    }

    fn answer(&mut self, now: Timestamp, run: &Run) -> Result<(), Failure> {
        for row in run.rows.iter().filter(|row| row.is_at_work()) {
            if let Some(progress) = progress(row) {
                let drive = row.into();
                self.line(now, Event::Progress { drive, progress })?;
            }
        }
        Ok(())
    }

    fn end(&mut self, now: Timestamp, job: &Job, run: &Run) -> Result<(), Failure> {
        let totals = run.totals();
        let drives = job.drives.iter().zip(&run.rows);
        let event = Event::End {
            job: &job.id,
            seconds: totals.seconds,
            moved_bytes: totals.moved,
            bytes_per_second: whole(totals.average()),
            cpu_seconds: totals.cpu_seconds,
            cpu_seconds_per_gb: totals.cpu_per_gb(),
            drives: drives.map(|(drive, row)| Ending::of(drive, row)).collect(),
        };
        self.line(now, event)
    }
}

/// `None` for a drive that is not at work.
fn progress(row: &Row) -> Option<Progress> {
    let (phase, pass) = match row.reading.phase {
        Phase::Verifying(number) => (PhaseName::Verification, number),
        Phase::Writing(number) => (PhaseName::Pass, number),
        Phase::Waiting | Phase::Purging | Phase::Ended => return None,
    };
    let left = row.left();
    let seconds_left = match left {
        Left::Seconds(seconds) => Some(seconds),
        Left::Stalled | Left::Unknown => None,
    };
    Some(Progress {
        phase,
        pass,
        done: row.reading.done,
        total: row.reading.total,
        bytes_per_second: whole(row.now()),
        average_bytes_per_second: whole(row.meter.average()),
        seconds_left: whole(seconds_left),
        stalled: left == Left::Stalled,
        refused_bytes: row.reading.refused,
        differing_bytes: row.reading.differing,
        celsius: row.celsius,
    })
}

/// Rounded to whole bytes or seconds.
fn whole(value: Option<f64>) -> Option<u64> {
    value.map(|value| value.round() as u64)
}
