//! Runs a thread for each drive, while the first thread shows what they do, gives up drives that have stalled, and does
//! what the user asks for by keys.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use squall_tool_base::failure::cause;
use squall_tool_base::{Failure, Inquiry, Interrupt};

use crate::args::TransferArguments;
use crate::arrivals::Arrivals;
use crate::drive::{PendingDrive, Worker};
use crate::journal::Journal;
use crate::keyboard::{Keyboard, SkipDialog};
use crate::progress::{Event, EventKind, EventSender, Progress};
use crate::record::Drive;
use crate::resources;
use crate::show::{OutputStyle, Prompt, Show};
use crate::threads::{Control, DriveThread};

/// Time between two updates of what is shown.
const TICK: Duration = Duration::from_millis(100);

/// A drive is asked for its temperature no more often than this: some answer slowly.
const TEMPERATURE: Duration = Duration::from_secs(10);

/// The key that ends the watch for more drives.
const QUIT: u8 = b'q';

pub type Work = fn(&Worker);

/// What the work on all drives has in common, and what the first thread does meanwhile.
pub struct Supervision<'a> {
    pub work: Work,
    pub journal: &'a Arc<Journal>,
    pub transfer: &'a TransferArguments,
    /// Time between two checkpoints.
    pub interval: Duration,
    pub interrupt: &'a Interrupt,
    /// Whether the user asks how far the run is.
    pub inquiry: &'a Inquiry,
    pub style: OutputStyle,
    pub keyboard: Option<Keyboard>,
    /// Adds drives that are plugged in, until the user ends that.
    pub arrivals: Option<Arrivals>,
}

/// How the work on all drives ended.
pub struct RunEnd {
    /// Whether all of it could be shown.
    pub shown: Result<(), Failure>,
    /// The numbers of the drives that were given up, and whose threads still wait.
    pub stuck: Vec<usize>,
    /// How many drives were plugged in that were perhaps meant, and were not wiped.
    pub missed: usize,
}

impl Supervision<'_> {
    /// Works on all of `drives`, at once, and waits for them. A drive that stops leaves
    /// the others alone. So does an error in showing, which is returned at the end.
    pub fn run(self, drives: Vec<PendingDrive>) -> RunEnd {
        let job = self.journal.job().clone();
        let progress: Vec<Arc<Progress>> = job.drives.iter().map(progress_of).collect();
        let show = match Show::begin(self.style, &job, &progress) {
            Ok(show) => show,
            Err(failure) => {
                return RunEnd {
                    shown: Err(failure),
                    stuck: Vec::new(),
                    missed: 0,
                };
            }
        };
        let (sender, events) = channel();
        let mut supervisor = Supervisor {
            supervision: self,
            threads: Vec::new(),
            show,
            sender,
            events,
            dialog: SkipDialog::default(),
            next_temperatures: Instant::now(),
            missed: 0,
            is_lost: false,
        };
        let depth = resources::depth(supervisor.supervision.transfer.depth, drives.len());
        for drive in drives {
            let progress = progress[drive.number].clone();
            supervisor.start(drive, progress, depth);
        }
        supervisor.watch_to_the_end()
    }
}

/// The progress of a drive that has not begun, or that an earlier run has ended.
fn progress_of(drive: &Drive) -> Arc<Progress> {
    let progress = Progress::default();
    if drive.outcome.is_some() {
        progress.end();
    }
    Arc::new(progress)
}

/// The first thread.
struct Supervisor<'a> {
    supervision: Supervision<'a>,
    threads: Vec<DriveThread<Worker>>,
    show: Show<'static>,
    /// Where all events come from.
    sender: Sender<Event>,
    events: Receiver<Event>,
    dialog: SkipDialog,
    next_temperatures: Instant,
    missed: usize,
    /// Whether nobody can see the run any more.
    is_lost: bool,
}

impl Supervisor<'_> {
    /// Starts the thread of a drive, with this many transfers in flight. If there can be none, the drive has failed.
    fn start(&mut self, drive: PendingDrive, progress: Arc<Progress>, depth: u32) {
        let number = drive.number;
        let events = EventSender::new(number, self.sender.clone());
        let Supervision { work, transfer, .. } = self.supervision;
        let worker = Arc::new(Worker {
            drive,
            journal: self.supervision.journal.clone(),
            control: Arc::new(Control::new(self.supervision.interrupt.clone())),
            progress,
            events,
            transfer: TransferArguments {
                depth,
                ..transfer.clone()
            },
            interval: self.supervision.interval,
            owes_temperature: AtomicBool::new(false),
        });
        let its_own = worker.clone();
        let (progress, control) = (worker.progress.clone(), worker.control.clone());
        let run = move || its_own.run(work);
        let thread = DriveThread::start(worker, progress, control, transfer.stall, run);
        if let Some(error) = thread.error() {
            thread.worker.fail(format!("thread: {}", cause(error)));
        }
        self.threads.push(thread);
    }

    /// Shows what happens until all drives have ended.
    fn watch_to_the_end(mut self) -> RunEnd {
        let shown = self.watch();
        // The terminal is as it was before the last words.
        drop(self.supervision.keyboard.take());
        let ended = self.show.end(&self.supervision.journal.job());
        let mut stuck = Vec::new();
        for thread in self.threads {
            let number = thread.worker.drive.number;
            stuck.extend((!thread.join()).then_some(number));
        }
        RunEnd {
            shown: shown.and(ended),
            missed: self.missed,
            stuck,
        }
    }

    /// Starts to work on drives that were plugged in.
    fn take_arrivals(&mut self) -> Result<(), Failure> {
        if self.supervision.interrupt.is_noted() {
            self.supervision.arrivals = None;
        }
        let journal = self.supervision.journal;
        let arrived = self.supervision.arrivals.as_mut();
        for arrival in arrived.map_or_else(Vec::new, |it| it.take(journal)) {
            match arrival {
                Ok(drive) => self.add(drive)?,
                Err(reason) => {
                    self.missed += usize::from(reason.is_missed);
                    self.show.remark(&reason.text)?;
                }
            }
        }
        Ok(())
    }

    fn add(&mut self, drive: PendingDrive) -> Result<(), Failure> {
        let progress = Arc::new(Progress::default());
        let number = drive.number;
        let identity = Box::new(drive.device.target().identity.clone());
        let job = self.supervision.journal.job().clone();
        self.show.add(&job, number, progress.clone());
        let what = EventKind::Attached { identity };
        let shown = self.show.event(&Event {
            drive: number,
            what,
        });
        let depth = resources::depth(self.supervision.transfer.depth, 1);
        self.start(drive, progress, depth);
        shown
    }

    /// Shows what happens until all drives are finished or given up, and nobody looks for more.
    fn watch(&mut self) -> Result<(), Failure> {
        let mut shown = Ok(());
        let mut next_tick = Instant::now() + TICK;
        let mut says_that_it_stops = false;
        while self.supervision.arrivals.is_some() || self.at_work().next().is_some() {
            let timeout = next_tick.saturating_duration_since(Instant::now());
            match self.events.recv_timeout(timeout) {
                Ok(event) => shown = shown.and(self.event(&event)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => unreachable!("a sender is kept"),
            }
            if Instant::now() >= next_tick {
                if self.supervision.interrupt.is_noted() && !says_that_it_stops {
                    shown = shown.and_then(|()| self.show.stopping());
                    says_that_it_stops = true;
                }
                self.note_loss();
                self.give_up_stalled();
                self.ask_temperatures();
                self.read_keys();
                shown = shown.and(self.take_arrivals());
                shown = shown.and_then(|()| self.tick());
                if self.supervision.inquiry.take() {
                    shown = shown.and_then(|()| self.show.answer());
                }
                next_tick = Instant::now() + TICK;
            }
        }
        shown
    }

    /// The threads of drives that have not ended.
    fn at_work(&mut self) -> impl Iterator<Item = &mut DriveThread<Worker>> {
        self.threads.iter_mut().filter(|thread| !thread.has_ended)
    }

    fn event(&mut self, event: &Event) -> Result<(), Failure> {
        let is_it = |thread: &&mut DriveThread<Worker>| thread.worker.drive.number == event.drive;
        let Some(thread) = self.at_work().find(is_it) else {
            // What the thread of a drive that was given up does counts for nothing.
            return Ok(());
        };
        thread.has_ended = matches!(event.what, EventKind::Ended(_));
        self.show.event(event)
    }

    fn tick(&mut self) -> Result<(), Failure> {
        for (drive, text) in self.show.tick()? {
            self.note(drive, text)?;
        }
        Ok(())
    }

    fn note(&mut self, drive: usize, text: String) -> Result<(), Failure> {
        let journal = self.supervision.journal;
        journal.update(drive, |drive| drive.note(text.clone()));
        let what = EventKind::Note { text };
        self.show.event(&Event { drive, what })
    }

    /// Records that the run goes on, if nobody can see it any more.
    fn note_loss(&mut self) {
        if self.is_lost || !self.supervision.style.is_lost() {
            return;
        }
        self.is_lost = true;
        let drives: Vec<_> = self.at_work().map(|it| it.worker.drive.number).collect();
        for drive in drives {
            let text = "its output was closed: from then on nobody saw the run, which went on";
            let _ = self.note(drive, text.into());
        }
    }

    /// Gives up the drives that have stalled: what was recorded of them is shown as if their threads had sent it.
    fn give_up_stalled(&mut self) {
        for thread in self.at_work() {
            if let Some(reason) = thread.stall_reason() {
                thread.worker.give_up(&reason);
            }
        }
    }

    fn ask_temperatures(&mut self) {
        if Instant::now() < self.next_temperatures {
            return;
        }
        self.next_temperatures = Instant::now() + TEMPERATURE;
        for DriveThread { worker, .. } in self.at_work() {
            if worker.progress.read().phase.is_at_work() {
                worker.ask_temperature();
            }
        }
    }

    fn read_keys(&mut self) {
        let Some(keyboard) = &self.supervision.keyboard else {
            return;
        };
        if keyboard.is_stop_asked() {
            self.show.hide();
            keyboard.stop();
        }
        for key in keyboard.typed() {
            if key == QUIT && !self.dialog.is_open() && self.supervision.arrivals.take().is_some() {
                // A line that cannot be shown is lost.
                let _ = self.show.remark("waiting for no more drives");
            }
            if let Some(number) = self.dialog.take(key) {
                self.skip(number);
            }
        }
        self.show.prompt(Prompt {
            has_keys: true,
            watches: self.supervision.arrivals.is_some(),
            question: self.dialog.question(),
        });
    }

    /// Skips the drive with this number, counted from 1: it stops at a checkpoint. If it was asked before, it is given
    /// up at once.
    fn skip(&mut self, number: usize) {
        let mut workers = self.at_work().map(|thread| thread.worker.clone());
        let worker = workers.find(|it| it.drive.number.checked_add(1) == Some(number));
        drop(workers);
        // A line that cannot be shown is lost; the drive stops all the same.
        let _ = match worker {
            None => {
                let line = format!("no drive under way has the number {number}");
                self.show.remark(&line)
            }
            Some(worker) if worker.control.skip() => {
                worker.give_up("it was skipped, and did not answer");
                Ok(())
            }
            Some(worker) => self.note(
                worker.drive.number,
                "skipped by a key: stops at a checkpoint; skip it again to give it up at once"
                    .into(),
            ),
        };
    }
}
