//! One drive as it is shown: its progress, and what is computed from that.

use std::path::PathBuf;
use std::time::Duration;

use squall_drives::{Kind, shown};
use squall_tool_base::text::in_a_line;
use squall_tool_base::units;

use crate::progress::{Phase, Snapshot};
use crate::record::{Drive, Job, Outcome, Plan, Scope};
use crate::text;

use super::meter::{Left, Meter};

/// A sampled verification compares about one in this many bytes.
const SAMPLED: u64 = 10;

#[derive(Debug)]
pub struct Row {
    /// The drive's number in the job, counted from 0.
    pub number: usize,
    pub given: PathBuf,
    /// The same in one line, for people.
    pub target: String,
    /// Its serial number; `None` for files and for drives without one.
    pub serial: Option<String>,
    /// The last part of its path: `sdb`, or a file's name.
    pub name: String,
    pub reading: Snapshot,
    pub meter: Meter,
    /// How it ended; `None` while it is under way.
    pub outcome: Option<Outcome>,
    plan: Plan,
    size: u64,
    /// Bytes that earlier runs wrote, gave up or compared.
    earlier: u64,
}

impl Row {
    /// The row of the drive of this number, before it begins.
    pub fn new(job: &Job, number: usize, reading: Snapshot) -> Row {
        let drive = &job.drives[number];
        let identity = &drive.target;
        let name = identity.path.file_name().unwrap_or_default();
        let serial = identity.serial.as_deref().map(in_a_line);
        Row {
            number,
            given: identity.given.clone(),
            target: shown(&identity.given),
            serial: serial.filter(|_| identity.kind != Kind::File),
            name: in_a_line(&name.to_string_lossy()),
            reading,
            meter: Meter::default(),
            outcome: drive.outcome.clone(),
            plan: job.plan.clone(),
            size: identity.size,
            earlier: bytes_processed(drive),
        }
    }

    /// Updates the row with the drive's progress at time `at`.
    pub fn update(&mut self, at: Duration, reading: Snapshot) {
        let begins = reading.phase != self.reading.phase;
        self.reading = reading;
        match reading.phase {
            Phase::Waiting | Phase::Purging | Phase::Ended => {}
            _ if begins => self.meter.begin(at, reading.moved),
            _ => self.meter.feed(at, reading.moved),
        }
    }

    /// Whether it is being written or verified.
    pub fn is_at_work(&self) -> bool {
        self.outcome.is_none() && self.reading.phase.is_at_work()
    }

    pub fn is_purging(&self) -> bool {
        self.outcome.is_none() && self.reading.phase == Phase::Purging
    }

    /// Its temperature in degrees Celsius, while it is at work.
    pub fn celsius(&self) -> Option<f64> {
        self.reading.celsius.filter(|_| self.is_at_work())
    }

    /// Bytes a second over the last seconds, while it is at work.
    pub fn now(&self) -> Option<f64> {
        self.meter.now().filter(|_| self.is_at_work())
    }

    /// How long the rest of its part of the job takes, with all passes and the verification that
    /// remain.
    pub fn left(&self) -> Left {
        match self.is_at_work() {
            true => self.meter.left(self.bytes_left()),
            false => Left::Unknown,
        }
    }

    fn bytes_left(&self) -> u64 {
        let Snapshot { done, total, .. } = self.reading;
        let of_phase = total.saturating_sub(done);
        match self.reading.phase {
            Phase::Waiting | Phase::Purging => self.after(0).saturating_sub(self.earlier),
            Phase::Writing(number) => {
                let is_compared = self.plan.verify_each || number == self.plan.count();
                let compared = if is_compared { self.compared() } else { 0 };
                let left = of_phase.saturating_add(compared);
                left.saturating_add(self.after(number))
            }
            Phase::Verifying(number) => of_phase.saturating_add(self.after(number)),
            Phase::Ended => 0,
        }
    }

    /// Bytes that are written and compared after pass `number` and its verification.
    fn after(&self, number: u32) -> u64 {
        let left = self.plan.count().saturating_sub(number);
        let compared = match self.plan.verify_each {
            true => left,
            false => left.min(1),
        };
        let written = self.size.saturating_mul(left.into());
        written.saturating_add(self.compared().saturating_mul(compared.into()))
    }

    /// Bytes that a verification is expected to compare.
    fn compared(&self) -> u64 {
        match self.plan.verify {
            Scope::Full => self.size,
            Scope::Sample => self.size / SAMPLED,
            Scope::None => 0,
        }
    }

    /// What it is doing, or how it ended, in a word or two.
    pub fn phase(&self) -> String {
        if let Some(outcome) = &self.outcome {
            return outcome.word().into();
        }
        match self.reading.phase {
            Phase::Waiting => "waiting".into(),
            Phase::Purging => "erases itself".into(),
            Phase::Writing(number) => self.pass(number),
            Phase::Verifying(number) => self.verification(number),
            Phase::Ended => "ended".into(),
        }
    }

    /// The pass of this number for people: `pass 1/3`.
    pub fn pass(&self, number: u32) -> String {
        format!("pass {number}/{}", self.plan.count())
    }

    /// The verification of the pass of this number for people: `verify`, or `verify 1/3` if there are more.
    pub fn verification(&self, number: u32) -> String {
        match self.plan.verify_each && self.plan.count() > 1 {
            true => format!("verify {number}/{}", self.plan.count()),
            false => "verify".into(),
        }
    }

    /// How much of the phase is done, in whole percents.
    pub fn percent(&self) -> u64 {
        text::percent(self.reading.done, self.reading.total)
    }

    /// How many bytes were refused or differ, for people; `None` if there are none.
    pub fn errors(&self) -> Option<String> {
        errors(self.reading.refused, self.reading.differing)
    }

    /// A sentence for its record when it has become slow.
    pub fn slowness(&mut self) -> Option<String> {
        if !self.is_at_work() {
            return None;
        }
        let slow = self.meter.slowness()?;
        let [now, before] = [slow.now, slow.before].map(units::rate);
        let (percent, phase) = (self.percent(), self.phase());
        Some(format!(
            "slow since {percent} % of {phase}: {now}, {before} before"
        ))
    }
}

/// How many bytes were refused or differ, for people; `None` if there are none.
pub fn errors(refused: u64, differing: u64) -> Option<String> {
    let parts = [(refused, "refused"), (differing, "differing")];
    let parts = parts.into_iter().filter(|(bytes, _)| *bytes > 0);
    let parts = parts.map(|(bytes, what)| format!("{} {what}", units::volume(bytes)));
    let parts: Vec<_> = parts.collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Bytes that all phases of a drive have written, given up or compared.
pub fn bytes_processed(drive: &Drive) -> u64 {
    let written: u64 = drive.passes.iter().map(|pass| pass.offset).sum();
    let compared: u64 = drive.verifications().map(|found| found.compared).sum();
    written.saturating_add(compared)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::ContentKind;
    use crate::show::fixture;

    /// A job that has not begun.
    fn job() -> Job {
        let mut job = fixture::job();
        let target = job.drives[0].target.clone();
        job.drives = vec![Drive::new(target)];
        job
    }

    fn update(row: &mut Row, seconds: u64, phase: Phase, (done, total): (u64, u64), moved: u64) {
        let mut reading = Snapshot::default();
        (reading.phase, reading.done, reading.total) = (phase, done, total);
        reading.moved = moved;
        row.update(Duration::from_secs(seconds), reading);
    }

    /// The time left includes the remaining passes and the verification.
    #[test]
    fn time_left_is_that_of_the_whole_drive() {
        let mut job = job();
        job.plan.passes = vec![ContentKind::Keystream; 3];
        let size = job.drives[0].target.size;
        let mut row = Row::new(&job, 0, Snapshot::default());
        assert_eq!(row.bytes_left(), 4 * size);
        update(&mut row, 0, Phase::Writing(2), (0, size), 0);
        update(&mut row, 10, Phase::Writing(2), (size / 2, size), size / 2);
        assert_eq!(row.left(), Left::Seconds(50.0));
        assert!(row.now().is_some());
        row.outcome = Some(Outcome::Vanished);
        assert_eq!((row.now(), row.left()), (None, Left::Unknown), "it ended");
        row.outcome = None;
        update(&mut row, 10, Phase::Verifying(3), (0, size), size / 2);
        assert_eq!(row.bytes_left(), size);
        assert_eq!(row.left(), Left::Unknown, "a phase begins anew");
    }

    /// If each pass is verified, so are all that remain.
    #[test]
    fn time_left_includes_each_verification() {
        let mut job = job();
        job.plan.passes = vec![ContentKind::ZEROS; 3];
        job.plan.verify_each = true;
        let size = job.drives[0].target.size;
        let mut row = Row::new(&job, 0, Snapshot::default());
        assert_eq!(row.bytes_left(), 6 * size);
        update(&mut row, 0, Phase::Writing(1), (0, size), 0);
        assert_eq!(row.bytes_left(), 6 * size);
        update(&mut row, 0, Phase::Verifying(2), (0, size), 0);
        assert_eq!(row.bytes_left(), 3 * size);
        assert_eq!(row.phase(), "verify 2/3");
    }

    /// While a drive sanitizes itself, no bytes are moved, and that is no stall.
    #[test]
    fn what_sanitizes_itself_is_not_stalled() {
        let job = job();
        let mut row = Row::new(&job, 0, Snapshot::default());
        for minute in 0..10 {
            update(&mut row, 60 * minute, Phase::Purging, (0x6000, 0x1_0000), 0);
            let shown = (row.phase(), row.percent(), row.now(), row.left());
            assert_eq!(shown, ("erases itself".into(), 37, None, Left::Unknown));
            assert!(row.is_purging() && row.slowness().is_none());
        }
        row.outcome = Some(Outcome::Interrupted);
        assert!(!row.is_purging());
    }
}
