//! A drive, and all that its thread needs. The thread may outlive the run.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::{PendingDrive, Work, Workers};
use crate::args::TransferArguments;
use crate::control::Control;
use crate::drive::Worker;
use crate::event::{EventKind, EventSender};
use crate::journal::Journal;
use crate::progress::{Phase, Progress};
use crate::record::Outcome;
use crate::text;
use crate::thermometer::Thermometer;

/// What one thread works on.
pub struct Assignment {
    drive: PendingDrive,
    journal: Arc<Journal>,
    transfer: TransferArguments,
    interval: Duration,
    pub thermometer: Arc<Thermometer>,
    pub progress: Arc<Progress>,
    pub control: Control,
}

impl Assignment {
    pub fn new(workers: &Workers<'_>, drive: PendingDrive, progress: Arc<Progress>) -> Assignment {
        Assignment {
            thermometer: Thermometer::of(&drive.target),
            drive,
            journal: workers.journal.clone(),
            transfer: workers.transfer.clone(),
            interval: workers.interval,
            progress,
            control: Control::new(workers.interrupt.clone()),
        }
    }

    /// The drive's number in the job, counted from 0.
    pub fn number(&self) -> usize {
        self.drive.number
    }

    /// Starts the thread. If it panics, the drive has failed, and the others go on.
    pub fn start(
        self: &Arc<Assignment>,
        work: Work,
        events: EventSender,
    ) -> io::Result<JoinHandle<()>> {
        let assignment = self.clone();
        thread::Builder::new().spawn(move || {
            let worker = assignment.worker(events.clone());
            if catch_unwind(AssertUnwindSafe(|| work(&worker))).is_err()
                && let Some(outcome) = assignment.fail("squall failed (see the message)".into())
            {
                events.send(EventKind::Ended(outcome));
            }
        })
    }

    fn worker(&self, events: EventSender) -> Worker<'_> {
        Worker {
            number: self.drive.number,
            target: &self.drive.target,
            device: &self.drive.device,
            keys: self.drive.keys.as_ref(),
            journal: &self.journal,
            progress: &self.progress,
            events,
            interrupt: &self.control,
            plan: &self.drive.plan,
            transfer: &self.transfer,
            interval: self.interval,
        }
    }

    /// Records that the drive failed for this reason and how far it was, unless it has ended. From then on, its thread
    /// records nothing.
    pub fn give_up(&self, reason: &str) -> Option<Outcome> {
        let at = self.progress.read();
        let percent = text::percent(at.done, at.total);
        let passes = self.drive.plan.count();
        let place = match at.phase {
            Phase::Writing(number) => format!(", at {percent} % of pass {number}/{passes}"),
            Phase::Verifying(_) => format!(", at {percent} % of the verification"),
            Phase::Purging => format!(", at {percent} % of its own erase"),
            Phase::Waiting | Phase::Ended => String::new(),
        };
        self.fail(format!("{reason}{place}"))
    }

    fn fail(&self, reason: String) -> Option<Outcome> {
        let outcome = Outcome::Failed { reason };
        let is_recorded = self.journal.update(self.drive.number, |drive| {
            let is_open = drive.outcome.is_none();
            if is_open {
                drive.outcome = Some(outcome.clone());
                self.control.give_up();
            }
            is_open
        });
        if !is_recorded {
            return None;
        }
        self.progress.end();
        // The report is written in the end, whether the journal can be saved now or not.
        let _ = self.journal.save();
        Some(outcome)
    }
}
