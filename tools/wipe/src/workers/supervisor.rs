//! The first thread: it shows what the drives' threads do, gives up drives that have stalled, and does what the user asks
//! for by keys.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use squall_tools::Failure;

use super::assignment::Assignment;
use super::{PendingDrive, Supervised, Supervision, Work, Workers};
use crate::event::{Event, EventKind, EventSender};
use crate::keyboard::SkipDialog;
use crate::progress::Progress;
use crate::run::{Arrival, Arrivals};
use crate::show::Show;
use crate::stall::Stall;

/// Time between two updates of what is shown.
const TICK: Duration = Duration::from_millis(100);

/// The key that ends the watch for more drives.
const QUIT: u8 = b'q';

/// A drive's thread, as the first thread sees it.
struct DriveThread {
    assignment: Arc<Assignment>,
    /// `None` if it could not be started.
    handle: Option<JoinHandle<()>>,
    stall: Option<Stall>,
    has_ended: bool,
}

/// The drives of a run, and the thread of each.
pub struct Supervisor<'a, 'w> {
    workers: &'w Workers<'a>,
    work: Work,
    threads: Vec<DriveThread>,
    /// Those that are asked for their temperature.
    asked: Rc<RefCell<Vec<Arc<Assignment>>>>,
    show: Show<'a>,
    /// Where all events come from.
    sender: Sender<Event>,
    events: Receiver<Event>,
    dialog: SkipDialog,
    supervision: Supervision<'w>,
    missed: usize,
    /// Whether nobody can see the run any more.
    is_lost: bool,
}

impl<'a, 'w> Supervisor<'a, 'w> {
    pub fn new(
        workers: &'w Workers<'a>,
        work: Work,
        supervision: Supervision<'w>,
        mut show: Show<'a>,
        asked: Rc<RefCell<Vec<Arc<Assignment>>>>,
    ) -> Supervisor<'a, 'w> {
        show.has_keys(supervision.keyboard.is_some());
        let (sender, events) = channel();
        Supervisor {
            workers,
            work,
            threads: Vec::new(),
            asked,
            show,
            sender,
            events,
            dialog: SkipDialog::default(),
            supervision,
            missed: 0,
            is_lost: false,
        }
    }

    /// Shows what happens until all drives have ended.
    pub fn watch_to_the_end(mut self) -> Supervised {
        let shown = self.watch();
        // The terminal is as it was before the last words.
        drop(self.supervision.keyboard.take());
        let ended = self.show.end(&self.workers.journal.job());
        Supervised {
            shown: shown.and(ended),
            missed: self.missed,
            stuck: self.wait_for_threads(),
        }
    }

    pub fn start(&mut self, assignment: Arc<Assignment>) {
        let handle = self.workers.start(&assignment, self.work, &self.sender);
        self.asked.borrow_mut().push(assignment.clone());
        let limit = self.workers.transfer.stall;
        let stall = limit.map(|limit| Stall::new(limit, Instant::now()));
        self.threads.push(DriveThread {
            assignment,
            handle,
            stall,
            has_ended: false,
        });
    }

    /// Starts to work on drives that were plugged in.
    fn take_arrivals(&mut self) -> Result<(), Failure> {
        self.supervision
            .arrivals
            .take_if(|_| self.workers.interrupt.is_noted());
        let arrived = self.supervision.arrivals.as_mut().map(Arrivals::take);
        for arrival in arrived.unwrap_or_default() {
            match arrival {
                Arrival::Taken(drive) => self.add(*drive)?,
                Arrival::LeftOut { text, is_missed } => {
                    self.missed += usize::from(is_missed);
                    self.show.tell(&text)?;
                }
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
        let what = EventKind::Attached { identity };
        let shown = self.show.event(&Event {
            drive: number,
            what,
        });
        self.start(assignment);
        shown
    }

    /// Shows what happens until all drives are finished or given up, and nobody looks for more.
    fn watch(&mut self) -> Result<(), Failure> {
        let mut shown = Ok(());
        let mut next_tick = Instant::now() + TICK;
        let mut is_told = false;
        while self.supervision.arrivals.is_some()
            || self.threads.iter().any(|thread| !thread.has_ended)
        {
            let timeout = next_tick.saturating_duration_since(Instant::now());
            match self.events.recv_timeout(timeout) {
                Ok(event) => shown = shown.and(self.event(&event)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => unreachable!("a sender is kept"),
            }
            if Instant::now() >= next_tick {
                if self.workers.interrupt.is_noted() && !is_told {
                    shown = shown.and_then(|()| self.show.stopping());
                    is_told = true;
                }
                self.note_loss();
                self.give_up_stalled();
                self.read_keys();
                shown = shown.and(self.take_arrivals());
                shown = shown.and_then(|()| self.tick());
                if self.workers.inquiry.take() {
                    shown = shown.and_then(|()| self.show.answer());
                }
                next_tick = Instant::now() + TICK;
            }
        }
        shown
    }

    fn event(&mut self, event: &Event) -> Result<(), Failure> {
        let thread = self.thread_of(event.drive);
        // What the thread of a drive that was given up does counts for nothing.
        if thread.has_ended {
            return Ok(());
        }
        thread.has_ended = matches!(event.what, EventKind::Ended(_));
        self.show.event(event)
    }

    fn thread_of(&mut self, number: usize) -> &mut DriveThread {
        let mut threads = self.threads.iter_mut();
        let found = threads.find(|thread| thread.assignment.number() == number);
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

    /// Records that the run goes on, if nobody can see it any more.
    fn note_loss(&mut self) {
        if self.is_lost || !self.workers.style.is_lost() {
            return;
        }
        self.is_lost = true;
        let under_way = self.threads.iter().filter(|thread| !thread.has_ended);
        let drives: Vec<_> = under_way.map(|thread| thread.assignment.number()).collect();
        for drive in drives {
            let text = "its output was closed: from then on nobody saw the run, which went on";
            let _ = self.note(drive, text.into());
        }
    }

    /// Gives up the drives that have stalled.
    fn give_up_stalled(&mut self) {
        let now = Instant::now();
        let mut stalled = Vec::new();
        for thread in self.threads.iter_mut().filter(|thread| !thread.has_ended) {
            let sign = thread.assignment.progress.sign_of_life();
            if let Some(stall) = &mut thread.stall
                && stall.is_over(now, sign)
            {
                stalled.push((thread.assignment.number(), stall.reason()));
            }
        }
        for (number, reason) in stalled {
            self.give_up(number, &reason);
        }
    }

    /// Gives up a drive: records that it failed for this reason and how far it got, and no longer waits for it.
    fn give_up(&mut self, number: usize, reason: &str) {
        let assignment = self.thread_of(number).assignment.clone();
        if let Some(outcome) = assignment.give_up(reason) {
            // It is shown as if its thread had sent it.
            let events = EventSender::new(number, self.sender.clone());
            events.send(EventKind::Ended(outcome));
        }
    }

    /// Does what the user asks for by keys.
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
                let _ = self.show.tell("waiting for no more drives");
            }
            if let Some(number) = self.dialog.take(key) {
                self.skip(number);
            }
        }
        self.show.ask(self.dialog.question());
        self.show.watches(self.supervision.arrivals.is_some());
    }

    /// Skips the drive with this number, counted from 1: it stops at a checkpoint. If it was asked before, it is given
    /// up at once.
    fn skip(&mut self, number: usize) {
        let found = self.threads.iter().find(|thread| {
            !thread.has_ended && thread.assignment.number().checked_add(1) == Some(number)
        });
        let Some(thread) = found else {
            let _ = self
                .show
                .tell(&format!("no drive under way has the number {number}"));
            return;
        };
        let drive = thread.assignment.number();
        if thread.assignment.control.skip() {
            self.give_up(drive, "it was skipped, and did not answer");
            return;
        }
        let text = "skipped by a key: stops at a checkpoint; skip it again to give it up at once";
        // A line that cannot be shown is lost; the drive stops all the same.
        let _ = self.note(drive, text.into());
    }

    /// Waits for all threads but those of drives that were given up. Gives the numbers of those that still wait.
    fn wait_for_threads(self) -> Vec<usize> {
        let mut stuck = Vec::new();
        for thread in self.threads {
            let is_given_up = thread.assignment.control.is_given_up();
            match thread.handle {
                // A panic was recorded as the drive's outcome.
                Some(handle) if !is_given_up => drop(handle.join()),
                Some(handle) if !handle.is_finished() => stuck.push(thread.assignment.number()),
                _ => {}
            }
        }
        stuck
    }
}
