//! Runs a thread for each drive, while the first thread shows their progress.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use squall_drives::Target;
use squall_drives::io::Device;
use squall_tools::failure::cause;
use squall_tools::{Failure, Interrupt};

use crate::args::TransferArguments;
use crate::drive::Worker;
use crate::event::{Event, EventKind, EventSender};
use crate::journal::Journal;
use crate::keys::Keys;
use crate::progress::Progress;
use crate::record::{Outcome, Plan};
use crate::show::{OutputStyle, Show};

/// Time between two updates of what is shown.
const TICK: Duration = Duration::from_millis(100);

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

/// What the work on all drives has in common.
pub struct Workers<'a> {
    /// Where progress is recorded.
    pub journal: &'a Journal,
    /// How bytes are transferred.
    pub transfer: &'a TransferArguments,
    /// Time between two checkpoints.
    pub interval: Duration,
    /// Whether the user wants to stop.
    pub interrupt: &'a Interrupt,
    /// How the run is shown.
    pub style: OutputStyle,
}

impl Workers<'_> {
    /// Runs `work` for each of `drives`, all at once, and waits for them. A drive that stops leaves
    /// the others alone. So does an error in showing, which is returned at the end.
    pub fn run(&self, drives: &[PendingDrive], work: fn(&Worker<'_>)) -> Result<(), Failure> {
        let progress = self.progress();
        let temperature = |number: usize| {
            let drive = drives.iter().find(|drive| drive.number == number)?;
            drive.target.temperature()
        };
        let job = self.journal.job().clone();
        let mut show = Show::begin(self.style, &job, &progress, Box::new(temperature))?;
        let (sender, events) = channel();
        let shown = thread::scope(|scope| {
            for drive in drives {
                let worker = self.worker(drive, &progress[drive.number], &sender);
                let number = drive.number;
                let thread = thread::Builder::new().spawn_scoped(scope, move || work(&worker));
                if let Err(error) = thread {
                    self.cannot_begin(number, &error, &sender);
                }
            }
            drop(sender);
            self.watch(&events, &mut show)
        });
        shown.and(show.end(&self.journal.job()))
    }

    /// Records and shows that no thread could be started for the drive of this number.
    fn cannot_begin(&self, number: usize, error: &io::Error, sender: &Sender<Event>) {
        let outcome = Outcome::Failed {
            reason: format!("thread: {}", cause(error)),
        };
        self.journal
            .update(number, |drive| drive.outcome = Some(outcome.clone()));
        EventSender::new(number, sender.clone()).send(EventKind::Ended(outcome));
    }

    fn progress(&self) -> Vec<Progress> {
        let drives = &self.journal.job().drives;
        let progress = |drive: &crate::record::Drive| {
            let progress = Progress::default();
            if drive.outcome.is_some() {
                progress.end();
            }
            progress
        };
        drives.iter().map(progress).collect()
    }

    fn worker<'p>(
        &'p self,
        drive: &'p PendingDrive,
        progress: &'p Progress,
        sender: &Sender<Event>,
    ) -> Worker<'p> {
        Worker {
            number: drive.number,
            target: &drive.target,
            device: &drive.device,
            keys: drive.keys.as_ref(),
            journal: self.journal,
            progress,
            events: EventSender::new(drive.number, sender.clone()),
            interrupt: self.interrupt,
            plan: &drive.plan,
            transfer: self.transfer,
            interval: self.interval,
        }
    }

    /// Shows what happens until all drives are finished.
    fn watch(&self, events: &Receiver<Event>, show: &mut Show<'_>) -> Result<(), Failure> {
        let mut shown = Ok(());
        let mut next_tick = Instant::now() + TICK;
        let mut is_told = false;
        loop {
            let timeout = next_tick.saturating_duration_since(Instant::now());
            match events.recv_timeout(timeout) {
                Ok(event) => shown = shown.and_then(|()| show.event(&event)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return shown,
            }
            if Instant::now() >= next_tick {
                if self.interrupt.is_noted() && !is_told {
                    shown = shown.and_then(|()| show.stopping());
                    is_told = true;
                }
                shown = shown.and_then(|()| self.tick(show));
                next_tick = Instant::now() + TICK;
            }
        }
    }

    fn tick(&self, show: &mut Show<'_>) -> Result<(), Failure> {
        for (drive, text) in show.tick()? {
            self.journal.update(drive, |drive| drive.note(text.clone()));
            let what = EventKind::Note { text };
            show.event(&Event { drive, what })?;
        }
        Ok(())
    }
}
