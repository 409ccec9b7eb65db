//! Runs a thread for each drive, while the first thread shows their progress.
//!
//! A thread whose drive does not answer cannot be ended: it waits in the kernel. Such a drive can be given up, because
//! it has stalled or because the user skips it. The run then ends without its thread.

mod assignment;
mod supervisor;

use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;
use std::time::Duration;

use squall_drives::Target;
use squall_drives::io::Device;
use squall_tools::failure::cause;
use squall_tools::{Failure, Inquiry, Interrupt};

use crate::args::TransferArguments;
use crate::drive::Worker;
use crate::event::{Event, EventKind, EventSender};
use crate::journal::Journal;
use crate::keyboard::Keyboard;
use crate::keys::Keys;
use crate::progress::Progress;
use crate::record::{Outcome, Plan};
use crate::run::Arrivals;
use crate::show::{OutputStyle, Show};
use assignment::Assignment;
use supervisor::Supervisor;

/// A drive of a job that is not done yet.
pub struct PendingDrive {
    /// The drive's number in the job, counted from 0.
    pub number: usize,
    /// What was asked for.
    pub plan: Plan,
    /// The identified target.
    pub target: Target,
    /// The target, open.
    pub device: Device,
    /// The keys, if the passes are random.
    pub keys: Option<Keys>,
}

/// The drives with these `numbers` in the job, each with its target, open device and keys.
pub fn pending(
    plan: &Plan,
    numbers: impl IntoIterator<Item = usize>,
    targets: Vec<Target>,
    devices: Vec<Device>,
    keys: Vec<Option<Keys>>,
) -> Vec<PendingDrive> {
    let all = numbers.into_iter().zip(targets).zip(devices).zip(keys);
    let drive = |(((number, target), device), keys)| PendingDrive {
        number,
        plan: plan.clone(),
        target,
        device,
        keys,
    };
    all.map(drive).collect()
}

/// What is done with each drive.
pub type Work = fn(&Worker<'_>);

/// What the work on all drives has in common.
pub struct Workers<'a> {
    /// Where progress is recorded.
    pub journal: &'a Arc<Journal>,
    /// How bytes are transferred.
    pub transfer: &'a TransferArguments,
    /// Time between two checkpoints.
    pub interval: Duration,
    /// Whether the user wants to stop.
    pub interrupt: &'a Interrupt,
    /// Whether the user asks how far the run is.
    pub inquiry: &'a Inquiry,
    /// How the run is shown.
    pub style: OutputStyle,
}

/// What the first thread does besides showing the run.
#[derive(Default)]
pub struct Supervision<'a> {
    /// Does what the user asks for by keys.
    pub keyboard: Option<Keyboard>,
    /// Adds drives that are plugged in, until the user ends that.
    pub arrivals: Option<Arrivals<'a>>,
}

/// How the work on all drives ended.
pub struct Supervised {
    /// Whether all of it could be shown.
    pub shown: Result<(), Failure>,
    /// The numbers of the drives that were given up, and whose threads still wait.
    pub stuck: Vec<usize>,
    /// How many drives were plugged in that were perhaps meant, and were not wiped.
    pub missed: usize,
}

impl Workers<'_> {
    /// Runs `work` for each of `drives`, all at once, and waits for them. A drive that stops leaves
    /// the others alone. So does an error in showing, which is returned at the end.
    pub fn supervise(
        &self,
        drives: Vec<PendingDrive>,
        work: Work,
        supervision: Supervision<'_>,
    ) -> Supervised {
        let job = self.journal.job().clone();
        let progress: Vec<Arc<Progress>> = job.drives.iter().map(progress_of).collect();
        let assigned = drives.into_iter().map(|drive| {
            let progress = progress[drive.number].clone();
            Arc::new(Assignment::new(self, drive, progress))
        });
        let assigned: Vec<Arc<Assignment>> = assigned.collect();
        let asked = Rc::new(RefCell::new(Vec::new()));
        let all = asked.clone();
        let temperature = move |number: usize| {
            let all = all.borrow();
            let is_it = |drive: &&Arc<Assignment>| drive.number() == number;
            all.iter().find(is_it)?.thermometer.read()
        };
        let show = match Show::begin(self.style, &job, &progress, Box::new(temperature)) {
            Ok(show) => show,
            Err(failure) => {
                return Supervised {
                    shown: Err(failure),
                    stuck: Vec::new(),
                    missed: 0,
                };
            }
        };
        let mut supervisor = Supervisor::new(self, work, supervision, show, asked);
        for assignment in assigned {
            supervisor.start(assignment);
        }
        supervisor.watch_to_the_end()
    }

    /// Starts the thread of a drive. If there can be none, records and shows that.
    fn start(
        &self,
        assignment: &Arc<Assignment>,
        work: Work,
        sender: &Sender<Event>,
    ) -> Option<JoinHandle<()>> {
        let events = EventSender::new(assignment.number(), sender.clone());
        match assignment.start(work, events.clone()) {
            Ok(thread) => Some(thread),
            Err(error) => {
                self.cannot_begin(assignment.number(), &error, &events);
                None
            }
        }
    }

    fn cannot_begin(&self, number: usize, error: &io::Error, events: &EventSender) {
        let outcome = Outcome::Failed {
            reason: format!("thread: {}", cause(error)),
        };
        self.journal
            .update(number, |drive| drive.outcome = Some(outcome.clone()));
        events.send(EventKind::Ended(outcome));
    }
}

/// The progress of a drive that has not begun, or that an earlier run has ended.
fn progress_of(drive: &crate::record::Drive) -> Arc<Progress> {
    let progress = Progress::default();
    if drive.outcome.is_some() {
        progress.end();
    }
    Arc::new(progress)
}
