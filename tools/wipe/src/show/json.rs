//! Events for programs: one JSON object on each line. [`Line`] describes them.

use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use squall_drives::{Hidden, Identity};
use squall_tool_base::Failure;

use super::meter::Left;
use super::row::{Row, bytes_processed};
use super::run::Run;
use super::{Out, View};
use crate::args::Then;
use crate::choice::{Choice, Skipped};
use crate::progress::{EventKind, Phase};
use crate::record::{self, EraseMethod, Job, Outcome, Plan, Tool};

/// Time between two progress events of a drive.
const INTERVAL: Duration = Duration::from_secs(1);

pub struct Json<'a> {
    out: Out<'a>,
    last: Option<Duration>,
}

impl<'a> Json<'a> {
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

    fn remark(&mut self, now: Timestamp, text: &str) -> Result<(), Failure> {
        self.line(now, Event::Remark { text })
    }

    fn stopping(&mut self, now: Timestamp) -> Result<(), Failure> {
        self.line(now, Event::Stopping)
    }

    fn tick(&mut self, now: Timestamp, age: Duration, run: &Run) -> Result<(), Failure> {
        let is_early = |last| age.saturating_sub(last) < INTERVAL;
        if self.last.is_some_and(is_early) {
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
            drives: drives.map(|(drive, row)| Ending::new(drive, row)).collect(),
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
        celsius: row.celsius(),
    })
}

/// Rounded to whole bytes or seconds.
fn whole(value: Option<f64>) -> Option<u64> {
    value.map(|value| value.round() as u64)
}

/// Name and version of this layout.
pub const FORMAT: &str = "squall-wipe-events/1";

/// A line of `squall wipe --json`. New keys and new events may be added while the number of the format
/// stays.
#[derive(Serialize, JsonSchema)]
pub struct Line<'a> {
    /// RFC 3339, UTC, with milliseconds.
    #[schemars(with = "Timestamp")]
    at: String,
    #[serde(flatten)]
    event: Event<'a>,
}

impl Line<'_> {
    /// The line about an event at time `now`.
    pub fn new(now: Timestamp, event: Event<'_>) -> Line<'_> {
        let at = format!("{now:.3}");
        Line { at, event }
    }

    /// The line as text, with its end.
    pub fn text(&self) -> Result<String, Failure> {
        let text = serde_json::to_string(self);
        let text = text.map_err(|error| Failure::Runtime(format!("event: {error}")))?;
        Ok(text + "\n")
    }
}

/// The event that says which drives are left out.
pub fn left_out(choice: &Choice) -> Result<String, Failure> {
    let skipped = choice.skipped();
    Line::new(Timestamp::now(), Event::Choice { skipped }).text()
}

/// What happened.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event<'a> {
    /// With `--all`, the first line: the drives that are not wiped.
    Choice { skipped: Vec<Skipped> },
    /// What would be done: the last line of a dry run.
    Plan {
        #[schemars(extend("const" = FORMAT))]
        format: &'static str,
        drives: Vec<&'a Identity>,
        plan: &'a Plan,
        /// Whether each drive is to erase itself first.
        purge: bool,
        /// How each of the drives could erase itself, as far as it is known before it is open.
        means: Vec<Option<EraseMethod>>,
        /// What each of the drives hides from its host, which overwriting does not reach; null where that is not known.
        hidden: Vec<Option<Hidden>>,
        /// What keeps older copies of each drive's data, as far as the kernel shows it.
        copies: Vec<Vec<String>>,
    },
    /// The first line of a run.
    Begin {
        #[schemars(extend("const" = FORMAT))]
        format: &'static str,
        job: &'a str,
        tool: &'a Tool,
        plan: &'a Plan,
        /// In the order of the command line.
        drives: Vec<&'a Identity>,
    },
    /// Each second, of a drive that is at work.
    Progress {
        #[serde(flatten)]
        drive: DriveName<'a>,
        #[serde(flatten)]
        progress: Progress,
    },
    /// Something that is about no drive of the job, such as a drive that was plugged in and is left out.
    Remark {
        /// A sentence.
        text: &'a str,
    },
    /// The user has asked the run to stop: each drive goes on to a checkpoint.
    Stopping,
    /// The last line of a run, except for reports.
    End {
        job: &'a str,
        #[schemars(range(min = 0.0))]
        seconds: f64,
        moved_bytes: u64,
        bytes_per_second: Option<u64>,
        /// CPU seconds of the whole process.
        #[schemars(range(min = 0.0))]
        cpu_seconds: f64,
        #[schemars(range(min = 0.0))]
        cpu_seconds_per_gb: Option<f64>,
        drives: Vec<Ending<'a>>,
    },
    /// What is done now, after the end, as `--then` asks.
    Then { what: Then },
    /// The report of a drive, after the end, if it could not be written to its file.
    Report { report: &'a Job },
    /// Something happened to a drive.
    #[serde(untagged)]
    Drive {
        #[serde(flatten)]
        what: &'a EventKind,
        #[serde(flatten)]
        drive: DriveName<'a>,
    },
}

/// The drive that an event is about.
#[derive(Serialize, JsonSchema)]
pub struct DriveName<'a> {
    /// Its number in the order of the command line, counted from 0.
    drive: usize,
    /// Its name on the command line.
    target: &'a Path,
    serial: Option<&'a str>,
}

impl<'a> From<&'a Row> for DriveName<'a> {
    fn from(row: &'a Row) -> DriveName<'a> {
        DriveName {
            drive: row.number,
            target: &row.given,
            serial: row.serial.as_deref(),
        }
    }
}

/// How far a drive is.
#[derive(Serialize, JsonSchema)]
pub struct Progress {
    pub phase: PhaseName,
    /// The number of the pass that is written or verified, counted from 1.
    #[schemars(range(min = 1))]
    pub pass: u32,
    /// Bytes of the phase that are done.
    pub done: u64,
    /// All bytes of the phase.
    pub total: u64,
    /// Over the last seconds.
    pub bytes_per_second: Option<u64>,
    /// Over the whole run.
    pub average_bytes_per_second: Option<u64>,
    /// Until the drive has done everything that it still has to do.
    pub seconds_left: Option<u64>,
    /// Whether no byte was moved for half a minute.
    pub stalled: bool,
    pub refused_bytes: u64,
    pub differing_bytes: u64,
    pub celsius: Option<f64>,
}

/// What a drive is doing.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PhaseName {
    /// It is overwritten.
    Pass,
    /// It is read back and compared.
    Verification,
}

/// How a drive's part of the job ended.
#[derive(Serialize, JsonSchema)]
pub struct Ending<'a> {
    #[serde(flatten)]
    drive: DriveName<'a>,
    #[serde(flatten)]
    outcome: EndingOutcome<'a>,
    size: u64,
    not_overwritten_bytes: u64,
    /// Bytes that were written and compared, in all passes and runs.
    dealt_with_bytes: u64,
}

#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum EndingOutcome<'a> {
    Ended(&'a Outcome),
    UnderWay { outcome: () },
}

impl<'a> Ending<'a> {
    /// The ending of `drive`, which is shown in `row`.
    pub fn new(drive: &'a record::Drive, row: &'a Row) -> Ending<'a> {
        let under_way = EndingOutcome::UnderWay { outcome: () };
        let outcome = drive.outcome.as_ref();
        Ending {
            drive: row.into(),
            outcome: outcome.map_or(under_way, EndingOutcome::Ended),
            size: drive.target.size,
            not_overwritten_bytes: drive.not_overwritten(),
            dealt_with_bytes: bytes_processed(drive),
        }
    }
}
