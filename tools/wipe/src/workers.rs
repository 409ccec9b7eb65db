//! Runs a thread for each drive, while the first thread shows their progress.
//!
//! A thread whose drive does not answer cannot be ended: it waits in the kernel. Such a drive can be given up, because
//! it has stalled or because the user skips it. The run then ends without its thread.

mod assignment;

use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use squall_drives::Target;
use squall_drives::io::Device;
use squall_tools::failure::cause;
use squall_tools::{Failure, Interrupt};

use crate::args::TransferArguments;
use crate::drive::Worker;
use crate::event::{Event, EventKind, EventSender};
use crate::journal::Journal;
use crate::keyboard::Keyboard;
use crate::keys::Keys;
use crate::progress::Progress;
use crate::record::{Outcome, Plan};
use crate::run::{Arrival, Arrivals};
use crate::show::{OutputStyle, Show};
use crate::skip::SkipDialog;
use crate::stall::Stall;
use assignment::Assignment;

/// Time between two updates of what is shown.
const TICK: Duration = Duration::from_millis(100);

/// The key that ends the watch for more drives.
const QUIT: u8 = b'q';

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
    /// How the run is shown.
    pub style: OutputStyle,
}

/// A drive's thread, as the first thread sees it.
struct Charge {
    assignment: Arc<Assignment>,
    /// `None` if it could not be started.
    thread: Option<JoinHandle<()>>,
    stall: Option<Stall>,
    has_ended: bool,
}

/// The drives of a run, and the thread of each.
struct Floor<'a, 'w> {
    workers: &'w Workers<'a>,
    work: Work,
    stall: Option<Duration>,
    charges: Vec<Charge>,
    /// Those that are asked for their temperature.
    asked: Rc<RefCell<Vec<Arc<Assignment>>>>,
    show: Show<'a>,
    /// Where all events come from.
    sender: Sender<Event>,
    keyboard: Option<Keyboard>,
    dialog: SkipDialog,
    /// What is plugged in meanwhile; `None` if nobody looks for that any more.
    arrivals: Option<Arrivals<'w>>,
}

impl Workers<'_> {
    /// Runs `work` for each of `drives`, all at once, and waits for them. A drive that stops leaves
    /// the others alone. So does an error in showing, which is returned at the end.
    pub fn run(&self, drives: Vec<PendingDrive>, work: Work) -> Result<(), Failure> {
        self.run_until(drives, work, None, None, None).0
    }

    /// Like [`Workers::run`]. A drive is given up if it has moved nothing for the time `stall`, or if the user skips
    /// it on the `keyboard` and it does not answer. Drives of `arrivals` are added until the user ends that. Also tells
    /// whether the thread of a drive that was given up still waits.
    pub fn run_until(
        &self,
        drives: Vec<PendingDrive>,
        work: Work,
        stall: Option<Duration>,
        keyboard: Option<Keyboard>,
        arrivals: Option<Arrivals<'_>>,
    ) -> (Result<(), Failure>, bool) {
        let job = self.journal.job().clone();
        let progress: Vec<Arc<Progress>> = job.drives.iter().map(progress_of).collect();
        let assigned = drives.into_iter().map(|drive| {
            let progress = progress[drive.number].clone();
            Arc::new(Assignment::new(self, drive, progress))
        });
        let assigned: Vec<Arc<Assignment>> = assigned.collect();
        let asked = Rc::new(RefCell::new(assigned.clone()));
        let all = asked.clone();
        let temperature = move |number: usize| {
            let all = all.borrow();
            let drive = all.iter().find(|drive| drive.number() == number)?;
            drive.thermometer.read()
        };
        let show = Show::begin(self.style, &job, &progress, Box::new(temperature));
        let mut show = match show {
            Ok(show) => show,
            Err(failure) => return (Err(failure), false),
        };
        show.has_keys(keyboard.is_some());
        let (sender, events) = channel();
        let mut floor = Floor {
            workers: self,
            work,
            stall,
            charges: Vec::new(),
            asked,
            show,
            sender,
            keyboard,
            dialog: SkipDialog::default(),
            arrivals,
        };
        for assignment in assigned {
            floor.start(assignment);
        }
        let shown = floor.watch(&events);
        // The terminal is as it was before the last words.
        drop(floor.keyboard.take());
        let ended = floor.show.end(&self.journal.job());
        (shown.and(ended), floor.part())
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

impl Floor<'_, '_> {
    fn start(&mut self, assignment: Arc<Assignment>) {
        let thread = self.workers.start(&assignment, self.work, &self.sender);
        let stall = self.stall.map(|limit| Stall::new(limit, Instant::now()));
        self.charges.push(Charge {
            assignment,
            thread,
            stall,
            has_ended: false,
        });
    }

    /// Starts to work on drives that were plugged in.
    fn take_arrivals(&mut self) -> Result<(), Failure> {
        self.arrivals.take_if(|_| self.workers.interrupt.is_noted());
        let arrived = self.arrivals.as_mut().map(Arrivals::take);
        for arrival in arrived.unwrap_or_default() {
            match arrival {
                Arrival::Taken(drive) => self.add(*drive)?,
                Arrival::LeftOut(text) => self.show.tell(&text)?,
            }
        }
        Ok(())
    }

    fn add(&mut self, drive: PendingDrive) -> Result<(), Failure> {
        let progress = Arc::new(Progress::default());
        let number = drive.number;
        let identity = Box::new(drive.target.identity.clone());
        let assignment = Arc::new(Assignment::new(self.workers, drive, progress.clone()));
        self.show.add(&self.workers.journal.job(), number, progress);
        self.asked.borrow_mut().push(assignment.clone());
        let what = EventKind::Attached { identity };
        let shown = self.show.event(&Event {
            drive: number,
            what,
        });
        self.start(assignment);
        shown
    }

    /// Shows what happens until all drives are finished or given up, and nobody looks for more.
    fn watch(&mut self, events: &Receiver<Event>) -> Result<(), Failure> {
        let mut shown = Ok(());
        let mut next_tick = Instant::now() + TICK;
        let mut is_told = false;
        while self.arrivals.is_some() || self.charges.iter().any(|charge| !charge.has_ended) {
            let timeout = next_tick.saturating_duration_since(Instant::now());
            match events.recv_timeout(timeout) {
                Ok(event) => shown = shown.and(self.event(&event)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => unreachable!("a sender is kept"),
            }
            if Instant::now() >= next_tick {
                if self.workers.interrupt.is_noted() && !is_told {
                    shown = shown.and_then(|()| self.show.stopping());
                    is_told = true;
                }
                self.give_up_stalled();
                self.read_keys();
                shown = shown.and(self.take_arrivals());
                shown = shown.and_then(|()| self.tick());
                next_tick = Instant::now() + TICK;
            }
        }
        shown
    }

    fn event(&mut self, event: &Event) -> Result<(), Failure> {
        let charge = self.charge(event.drive);
        // What the thread of a drive that was given up does counts for nothing.
        if charge.has_ended {
            return Ok(());
        }
        charge.has_ended = matches!(event.what, EventKind::Ended(_));
        self.show.event(event)
    }

    fn charge(&mut self, number: usize) -> &mut Charge {
        let mut charges = self.charges.iter_mut();
        let found = charges.find(|charge| charge.assignment.number() == number);
        found.expect("every event comes from a drive of this run")
    }

    fn tick(&mut self) -> Result<(), Failure> {
        for (drive, text) in self.show.tick()? {
            self.note(drive, text)?;
        }
        Ok(())
    }

    fn note(&mut self, drive: usize, text: String) -> Result<(), Failure> {
        self.workers
            .journal
            .update(drive, |drive| drive.note(text.clone()));
        let what = EventKind::Note { text };
        self.show.event(&Event { drive, what })
    }

    /// Gives up the drives that have stalled.
    fn give_up_stalled(&mut self) {
        let now = Instant::now();
        let mut stalled = Vec::new();
        for charge in self.charges.iter_mut().filter(|charge| !charge.has_ended) {
            let sign = charge.assignment.progress.sign_of_life();
            if let Some(stall) = &mut charge.stall
                && stall.is_over(now, sign)
            {
                stalled.push((charge.assignment.number(), stall.limit()));
            }
        }
        for (number, limit) in stalled {
            let time = humantime::format_duration(limit);
            self.give_up(number, &format!("it stalled: nothing moved for {time}"));
        }
    }

    /// Gives up a drive: records that it failed for this reason and how far it got, and no longer waits for it.
    fn give_up(&mut self, number: usize, reason: &str) {
        let assignment = self.charge(number).assignment.clone();
        if let Some(outcome) = assignment.give_up(reason) {
            // It is shown as if its thread had sent it.
            let events = EventSender::new(number, self.sender.clone());
            events.send(EventKind::Ended(outcome));
        }
    }

    /// Does what the user asks for by keys.
    fn read_keys(&mut self) {
        let Some(keyboard) = &self.keyboard else {
            return;
        };
        if keyboard.is_stop_asked() {
            self.show.hide();
            keyboard.stop();
        }
        for key in keyboard.typed() {
            if key == QUIT && !self.dialog.is_open() && self.arrivals.take().is_some() {
                // A line that cannot be shown is lost.
                let _ = self.show.tell("waiting for no more drives");
            }
            if let Some(number) = self.dialog.take(key) {
                self.skip(number);
            }
        }
        self.show.ask(self.dialog.question());
        self.show.watches(self.arrivals.is_some());
    }

    /// Skips the drive with this number, counted from 1: it stops at a checkpoint. If it was asked before, it is given
    /// up at once.
    fn skip(&mut self, number: usize) {
        let found = self.charges.iter().find(|charge| {
            !charge.has_ended && charge.assignment.number().checked_add(1) == Some(number)
        });
        let Some(charge) = found else {
            let _ = self
                .show
                .tell(&format!("no drive under way has the number {number}"));
            return;
        };
        let drive = charge.assignment.number();
        if charge.assignment.control.skip() {
            self.give_up(drive, "it was skipped, and did not answer");
            return;
        }
        let text = "skipped by a key: stops at a checkpoint; skip it again to give it up at once";
        // A line that cannot be shown is lost; the drive stops all the same.
        let _ = self.note(drive, text.into());
    }

    /// Waits for all threads but those of drives that were given up. Tells whether there are any of these.
    fn part(self) -> bool {
        let mut is_stuck = false;
        for charge in self.charges {
            match charge.thread {
                Some(thread) if charge.assignment.control.is_given_up() => {
                    is_stuck |= !thread.is_finished();
                }
                // A panic was recorded as the drive's outcome.
                Some(thread) => drop(thread.join()),
                None => {}
            }
        }
        is_stuck
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
