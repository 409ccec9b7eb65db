//! All drives of a run as they are shown, and their totals.

use std::sync::Arc;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use squall_tool_base::units;

use super::meter::Left;
use super::row::Row;
use crate::progress::Progress;
use crate::record::Job;

pub struct Run {
    pub rows: Vec<Row>,
    progress: Vec<Arc<Progress>>,
    at: Duration,
    /// CPU seconds of this process when the run began.
    cpu_before: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Totals {
    pub drives: usize,
    /// The number of drives that have not ended.
    pub under_way: usize,
    pub moved: u64,
    /// Bytes a second over the last seconds.
    pub now: Option<f64>,
    /// Seconds since the run began.
    pub seconds: f64,
    /// Time until the last drive ends.
    pub left: Left,
    /// CPU seconds of this process since the run began.
    pub cpu_seconds: f64,
}

impl Run {
    pub fn new(job: &Job, progress: &[Arc<Progress>]) -> Run {
        let rows = progress.iter().enumerate().take(job.drives.len());
        let rows = rows.map(|(number, progress)| Row::new(job, number, progress.read()));
        let mut rows: Vec<_> = rows.collect();
        tell_apart(&mut rows);
        Run {
            rows,
            progress: progress.to_vec(),
            at: Duration::ZERO,
            cpu_before: cpu(),
        }
    }

    /// Adds the drive of this number of `job`, which has just been plugged in.
    pub fn add(&mut self, job: &Job, number: usize, progress: Arc<Progress>) {
        self.rows.push(Row::new(job, number, progress.read()));
        self.progress.push(progress);
        tell_apart(&mut self.rows);
    }

    /// Reads the progress of all drives. Returns notes on those that have become slow.
    pub fn update(&mut self, at: Duration) -> Vec<(usize, String)> {
        self.at = at;
        let mut notes = Vec::new();
        for (row, progress) in self.rows.iter_mut().zip(&self.progress) {
            row.update(at, progress.read());
            notes.extend(row.slowness().map(|note| (row.number, note)));
        }
        notes
    }

    pub fn totals(&self) -> Totals {
        let under_way = self.rows.iter().filter(|row| row.outcome.is_none());
        let left = under_way.clone().map(Row::left).reduce(longest);
        let rates = self.rows.iter().filter_map(Row::now);
        Totals {
            drives: self.rows.len(),
            under_way: under_way.count(),
            moved: self.rows.iter().map(|row| row.reading.moved).sum(),
            now: rates.reduce(|sum, rate| sum + rate),
            seconds: self.at.as_secs_f64(),
            left: left.unwrap_or(Left::Unknown),
            cpu_seconds: cpu() - self.cpu_before,
        }
    }
}

impl Totals {
    /// Bytes a second since the run began, once there are some.
    pub fn average(&self) -> Option<f64> {
        (self.seconds >= 1.0 && self.moved > 0).then(|| self.moved as f64 / self.seconds)
    }

    /// All of it for people.
    pub fn texts(&self) -> Vec<String> {
        self.ranked().into_iter().map(|(_, text)| text).collect()
    }

    /// All of it for people, each with its rank: 0 is what nobody can do without.
    pub fn ranked(&self) -> Vec<(u8, String)> {
        let finished = self.drives - self.under_way;
        let count = match self.drives {
            1 => "1 drive".into(),
            drives => format!("{finished} of {drives} finished"),
        };
        let average = self.average().map(units::rate);
        let texts = [
            (0, Some(count)),
            (3, Some(format!("{} moved", units::volume(self.moved)))),
            (2, self.now.map(|rate| format!("{} now", units::rate(rate)))),
            (4, average.map(|rate| format!("{rate} average"))),
            (1, self.left.text()),
        ];
        let known = texts.into_iter();
        let known = known.filter_map(|(rank, text)| Some((rank, text?)));
        known.collect()
    }

    /// CPU seconds for a billion bytes; `None` if too few bytes were moved to tell.
    pub fn cpu_per_gb(&self) -> Option<f64> {
        (self.moved >= LEAST).then(|| self.cpu_seconds / (self.moved as f64 / 1e9))
    }
}

/// If a run moved fewer bytes, its start is most of what it costs.
const LEAST: u64 = 100_000_000;

/// Gives drives of the same name, such as files in two directories, the names from the command line.
fn tell_apart(rows: &mut [Row]) {
    let names: Vec<_> = rows.iter().map(|row| row.name.clone()).collect();
    for row in rows {
        let same = names.iter().filter(|name| **name == row.name);
        if same.count() > 1 {
            row.name = row.target.clone();
        }
    }
}

/// The longer of two times. A drive that is stalled or has no estimate decides for both.
fn longest(one: Left, other: Left) -> Left {
    match (one, other) {
        (Left::Seconds(one), Left::Seconds(other)) => Left::Seconds(one.max(other)),
        (Left::Stalled, _) | (_, Left::Stalled) => Left::Stalled,
        _ => Left::Unknown,
    }
}

/// CPU seconds of all threads of this process.
fn cpu() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
