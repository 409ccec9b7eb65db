//! Shows a run while it goes on: as bars on a terminal, as plain lines in a log, or as events for a
//! program. All show the same, and no drive waits for them.

pub mod bars;
#[cfg(test)]
pub mod fixture;
pub mod json;
mod log;
pub mod meter;
mod row;
mod run;
mod screen;
mod table;
#[cfg(test)]
mod tests;

use std::io::{self, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use indicatif::ProgressDrawTarget;
use jiff::Timestamp;
use squall_tool_base::{Failure, output, terminal};

use crate::progress::{Event, EventKind, Progress};
use crate::record::Job;

use row::Row;
use run::Run;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputStyle {
    /// Bars on standard error.
    Screen,
    /// Lines on standard error.
    Log,
    /// JSON objects on standard output.
    Json,
}

impl OutputStyle {
    /// The style that suits where the output goes.
    ///
    /// # Errors
    /// Fails if JSON was asked for and standard output is closed or not writable.
    pub fn choose(json: bool) -> Result<OutputStyle, Failure> {
        match json {
            true => output::check().map(|()| OutputStyle::Json),
            false if terminal::can_draw() => Ok(OutputStyle::Screen),
            false => Ok(OutputStyle::Log),
        }
    }

    /// Whether nobody can see the run any more.
    pub fn is_lost(self) -> bool {
        match self {
            OutputStyle::Screen | OutputStyle::Log => output::is_lost(io::stderr()),
            OutputStyle::Json => output::is_lost(io::stdout()),
        }
    }
}

const STOPPING: &str = "stopping at a checkpoint; interrupt again to stop now";

/// Where lines go. Each call gets whole lines.
type Out<'a> = Box<dyn FnMut(&str) -> Result<(), Failure> + 'a>;

/// What can be done by keys.
#[derive(Debug, Default)]
pub struct Prompt {
    /// Whether drives can be skipped by keys.
    pub has_keys: bool,
    /// Whether drives that are plugged in are added.
    pub watches: bool,
    /// A question of which the user is typing the answer.
    pub question: Option<String>,
}

/// One way to show a run. `now` is wall-clock time, and `age` is the time since the run began.
trait View {
    fn begin(&mut self, _now: Timestamp, _job: &Job) -> Result<(), Failure> {
        Ok(())
    }
    fn event(&mut self, now: Timestamp, row: &Row, what: &EventKind) -> Result<(), Failure>;
    fn stopping(&mut self, now: Timestamp) -> Result<(), Failure>;
    fn prompt(&mut self, _prompt: Prompt) {}
    /// Something happened that is about no drive of the job.
    fn remark(&mut self, now: Timestamp, line: &str) -> Result<(), Failure>;
    /// Removes all but whole lines.
    fn hide(&mut self) {}
    fn tick(&mut self, now: Timestamp, age: Duration, run: &Run) -> Result<(), Failure>;
    /// Says how far the run is, because the user asks.
    fn answer(&mut self, now: Timestamp, run: &Run) -> Result<(), Failure>;
    fn end(&mut self, now: Timestamp, job: &Job, run: &Run) -> Result<(), Failure>;
}

pub struct Show<'a> {
    view: Box<dyn View + 'a>,
    run: Run,
    began: Instant,
}

impl<'a> Show<'a> {
    /// Begins to show `job`. `progress` is that of each drive, in the job's order.
    pub fn begin(
        style: OutputStyle,
        job: &Job,
        progress: &[Arc<Progress>],
    ) -> Result<Show<'a>, Failure> {
        let view: Box<dyn View> = match style {
            OutputStyle::Screen => Box::new(screen::Screen::on(
                ProgressDrawTarget::stderr(),
                terminal::bar_characters(),
            )),
            OutputStyle::Log => Box::new(log::Log::new(Box::new(tell))),
            OutputStyle::Json => Box::new(json::Json::new(Box::new(output::print))),
        };
        Show::with(view, Timestamp::now(), job, Run::new(job, progress))
    }

    fn with(
        mut view: Box<dyn View + 'a>,
        now: Timestamp,
        job: &Job,
        run: Run,
    ) -> Result<Show<'a>, Failure> {
        view.begin(now, job)?;
        let began = Instant::now();
        Ok(Show { view, run, began })
    }

    pub fn event(&mut self, event: &Event) -> Result<(), Failure> {
        self.event_at(Timestamp::now(), event)
    }

    /// From now on, shows what can be done by keys.
    pub fn prompt(&mut self, prompt: Prompt) {
        self.view.prompt(prompt);
    }

    pub fn add(&mut self, job: &Job, number: usize, progress: Arc<Progress>) {
        self.run.add(job, number, progress);
    }

    /// Shows a line that is about no drive of the job.
    pub fn remark(&mut self, line: &str) -> Result<(), Failure> {
        self.view.remark(Timestamp::now(), line)
    }

    /// Removes what would be in the way of the shell while this program is stopped.
    pub fn hide(&mut self) {
        self.view.hide();
    }

    /// Says that the run will stop, as the user has asked.
    pub fn stopping(&mut self) -> Result<(), Failure> {
        self.view.stopping(Timestamp::now())
    }

    /// Shows how far the drives are; to be called ten times a second. Returns the numbers of drives
    /// that have become slow, with notes for their records, which are also to be shown as events.
    pub fn tick(&mut self) -> Result<Vec<(usize, String)>, Failure> {
        self.tick_at(Timestamp::now(), self.began.elapsed())
    }

    pub fn answer(&mut self) -> Result<(), Failure> {
        self.view.answer(Timestamp::now(), &self.run)
    }

    /// Removes the bars, and shows the outcome of all drives and what to do next.
    pub fn end(&mut self, job: &Job) -> Result<(), Failure> {
        self.run.update(self.began.elapsed());
        self.view.end(Timestamp::now(), job, &self.run)
    }

    fn event_at(&mut self, now: Timestamp, event: &Event) -> Result<(), Failure> {
        let Some(row) = self.run.rows.get_mut(event.drive) else {
            return Ok(());
        };
        if let EventKind::Ended(outcome) = &event.what {
            row.outcome = Some(outcome.clone());
        }
        self.view.event(now, row, &event.what)
    }

    fn tick_at(&mut self, now: Timestamp, age: Duration) -> Result<Vec<(usize, String)>, Failure> {
        let notes = self.run.update(age);
        self.view.tick(now, age, &self.run)?;
        Ok(notes)
    }
}

/// Writes to standard error, and ignores failures: a run goes on even if nobody can watch it.
pub fn tell(text: &str) -> Result<(), Failure> {
    let _ = io::stderr().write_all(text.as_bytes());
    Ok(())
}
