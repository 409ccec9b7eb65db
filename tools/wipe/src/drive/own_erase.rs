//! Runs the drive's own erase before it is overwritten.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use squall_drives::erase::sanitize::{self, End, Operation, Surroundings, WHOLE};
use squall_drives::erase::{self, Action, EraseMethod};

use super::Worker;
use crate::progress::{EventKind, Phase};
use crate::recognise;
use crate::record::{Drive, Exchange, Outcome, Purge, Sanitize};
use crate::task::Stop;

/// Time between two looks at whether the user wants to stop.
const TICK: Duration = Duration::from_millis(100);

impl Worker {
    /// Has the drive erase itself, if that was asked for and is not done yet. Afterwards its
    /// contents are unknown, even if the erase failed, and it is to be overwritten.
    pub(super) fn purge(&self) -> Result<(), Stop> {
        let is_left = |drive: &mut Drive| {
            let purge = drive.purge.clone()?;
            (purge.ended.is_none() && drive.passes.is_empty()).then_some(purge)
        };
        let Some(purge) = self.update(is_left) else {
            return Ok(());
        };
        if self.control.is_noted() {
            return Err(Stop::Interrupted);
        }
        self.change_purge(|purge| {
            purge.began = purge.began.or_else(|| Some(Timestamp::now()));
            purge.failure = None;
        });
        let means = purge.means;
        self.events.send(EventKind::Purge { means });
        let failure = match (purge.with, means.action()) {
            (Some(other), _) => self.wait_for(other)?,
            (None, Some(action)) => self.sanitize(&purge, action)?,
            (None, None) => erase::run(&self.drive.device, means).err(),
        };
        let device = &self.drive.device;
        if !device.target().is_attached() {
            return Err(Stop::Vanished);
        }
        if let Some(means) = self.change_purge(|purge| end(purge, &failure)) {
            self.events.send(EventKind::Purged { means, failure });
        }
        let is_same = device.target().confirm(device.file());
        is_same.map_err(|failure| Stop::Failed(failure.into_text()))
    }

    /// Has the drive sanitize itself. Gives the reason if that failed.
    fn sanitize(&self, purge: &Purge, action: Action) -> Result<Option<String>, Stop> {
        let job = self.journal.job().clone();
        let targets = job.drives.iter().map(|drive| &drive.target);
        let named: Vec<_> = targets
            .filter_map(|target| recognise::find(target).ok())
            .collect();
        let drive = erase::chosen(&self.drive.device, &named);
        let drive = drive.map_err(Stop::Failed)?;
        let accepted = purge.sanitize.as_ref().and_then(|known| known.accepted);
        let begun = Begun {
            worker: self,
            own_name: drive.own_name().ok().flatten(),
            at: Instant::now(),
        };
        let operation = Operation {
            drive: &*drive,
            surroundings: &begun,
            action,
        };
        match operation.run(accepted.is_some()) {
            End::Done => Ok(None),
            End::Failed(why) => Ok(Some(why)),
            End::Vanished => Err(Stop::Vanished),
            End::Interrupted => {
                self.note(
                    "the drive goes on sanitizing itself, without squall and even after a power cut; \
                     until it is done it serves no reads and writes",
                );
                Err(Stop::Interrupted)
            }
            End::Stuck(why) => Err(Stop::Failed(why)),
            End::Locked(why) => {
                // When the job is resumed, another operation is started.
                self.change_purge(|purge| {
                    purge.sanitize.get_or_insert_default().accepted = None;
                });
                Err(Stop::Failed(why))
            }
        }
    }

    /// Waits for the erase of another drive of the job, which reaches this one. Gives the reason if that
    /// failed.
    fn wait_for(&self, other: usize) -> Result<Option<String>, Stop> {
        loop {
            let read = |drive: &mut Drive| (drive.purge.clone(), drive.outcome.clone());
            let (purge, outcome) = self.journal.update(other, read);
            match (purge, outcome) {
                (Some(purge), _) if purge.ended.is_some() => {
                    self.change_purge(|own| own.sanitize = purge.sanitize);
                    return Ok(purge.failure);
                }
                (_, Some(Outcome::Interrupted)) => return Err(Stop::Interrupted),
                (_, Some(_)) => {
                    let why = "the drive whose erase reaches this one has not done it";
                    return Err(Stop::Failed(why.into()));
                }
                (_, None) if self.control.is_noted() => return Err(Stop::Interrupted),
                (_, None) => std::thread::sleep(TICK),
            }
        }
    }

    fn change_purge<T>(&self, change: impl FnOnce(&mut Purge) -> T) -> Option<T> {
        let changed = self.update(|drive| drive.purge.as_mut().map(change));
        self.save();
        changed
    }

    fn note(&self, text: &str) {
        let text = text.to_owned();
        self.update(|drive| drive.note(text.clone()));
        self.events.send(EventKind::Note { text });
    }
}

/// Records the end of an erase, and gives what is known then of its means.
fn end(purge: &mut Purge, failure: &Option<String>) -> EraseMethod {
    purge.ended = Some(Timestamp::now());
    purge.failure = failure.clone();
    let sanitize = purge.sanitize.as_ref();
    if sanitize.is_some_and(|known| known.found_under_way) {
        purge.means = purge.means.found_under_way();
    }
    purge.means
}

/// A sanitize operation of a drive in a job.
struct Begun<'a> {
    worker: &'a Worker,
    own_name: Option<String>,
    at: Instant,
}

impl Begun<'_> {
    fn change(&self, change: impl FnOnce(&mut Sanitize)) {
        self.worker.change_purge(|purge| {
            let known = purge.sanitize.get_or_insert_default();
            known.own_name = self.own_name.clone().or(known.own_name.take());
            change(known);
        });
    }
}

impl Surroundings for Begun<'_> {
    fn now(&self) -> Duration {
        self.at.elapsed()
    }

    fn wait(&self, time: Duration) -> bool {
        let until = Instant::now() + time;
        while Instant::now() < until {
            if self.worker.control.is_noted() {
                return false;
            }
            std::thread::sleep(TICK);
        }
        true
    }

    fn is_attached(&self) -> bool {
        self.worker.drive.device.target().is_attached()
    }

    fn record(&self, exchange: sanitize::Exchange) {
        let sanitize::Exchange { sent, answered } = exchange;
        let at = Timestamp::now();
        self.change(|known| {
            known.exchanges.push(Exchange { at, sent, answered });
        });
    }

    fn under_way(&self, found: bool) {
        self.change(|known| {
            known.found_under_way = found;
            known.accepted = Some(Timestamp::now());
        });
    }

    fn progress(&self, progress: u16) {
        let (done, total) = (u64::from(progress), u64::from(WHOLE));
        self.worker.progress.begin(Phase::Purging, done, total);
        self.worker.events.send(EventKind::Purging { done, total });
    }
}
