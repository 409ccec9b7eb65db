//! A thread for each drive, and the first one, which shows how far they are.

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
use crate::event::{Event, Teller, What};
use crate::gauge::Gauge;
use crate::journal::Journal;
use crate::keys::Keys;
use crate::record::{Outcome, Plan};
use crate::show::{Manner, Show};

/// Time between two looks at how far drives are.
const TICK: Duration = Duration::from_millis(100);

/// A drive of a job that has something to do.
pub struct Part {
    /// Its number in the job.
    pub number: usize,
    /// What is asked for.
    pub plan: Plan,
    /// What it is.
    pub target: Target,
    /// It, open.
    pub device: Device,
    /// Its keys, if its passes are random.
    pub keys: Option<Keys>,
}

/// The parts of a job: for each of `numbers` what it is, that open, and its keys, in their order.
pub fn parts(
    plan: Plan,
    numbers: impl IntoIterator<Item = usize>,
    targets: Vec<Target>,
    devices: Vec<Device>,
    keys: Vec<Option<Keys>>,
) -> Vec<Part> {
    let all = numbers.into_iter().zip(targets).zip(devices).zip(keys);
    let part = |(((number, target), device), keys)| Part {
        number,
        plan,
        target,
        device,
        keys,
    };
    all.map(part).collect()
}

/// How all parts are worked on.
pub struct Crew<'a> {
    /// Where they keep how far they are.
    pub journal: &'a Journal,
    /// How bytes are transferred.
    pub transfer: &'a TransferArguments,
    /// Time between two checkpoints.
    pub interval: Duration,
    /// Whether the user wants it to end.
    pub interrupt: &'a Interrupt,
    /// How it is shown.
    pub manner: Manner,
}

impl Crew<'_> {
    /// Has each of `parts` do `work`, all at once, and waits for them. A drive that stops leaves
    /// the others alone, and so does a screen that cannot be written to, which is told in the end.
    pub fn run(&self, parts: &[Part], work: fn(&Worker<'_>)) -> Result<(), Failure> {
        let gauges = self.gauges();
        let temperature = |drive: usize| {
            let part = parts.iter().find(|part| part.number == drive)?;
            part.target.temperature()
        };
        let job = self.journal.job().clone();
        let mut show = Show::begin(self.manner, &job, &gauges, Box::new(temperature))?;
        let (teller, events) = channel();
        let shown = thread::scope(|scope| {
            for part in parts {
                let worker = self.worker(part, &gauges[part.number], &teller);
                let number = part.number;
                let thread = thread::Builder::new().spawn_scoped(scope, move || work(&worker));
                if let Err(error) = thread {
                    self.cannot_begin(number, &error, &teller);
                }
            }
            drop(teller);
            self.watch(&events, &mut show)
        });
        shown.and(show.end(&self.journal.job()))
    }

    /// There is no thread for the drive of this number.
    fn cannot_begin(&self, number: usize, error: &io::Error, teller: &Sender<Event>) {
        let outcome = Outcome::Failed {
            reason: format!("thread: {}", cause(error)),
        };
        self.journal
            .update(number, |drive| drive.outcome = Some(outcome.clone()));
        Teller::new(number, teller.clone()).tell(What::Ended(outcome));
    }

    fn gauges(&self) -> Vec<Gauge> {
        let drives = &self.journal.job().drives;
        let gauge = |drive: &crate::record::Drive| {
            let gauge = Gauge::default();
            if drive.outcome.is_some() {
                gauge.end();
            }
            gauge
        };
        drives.iter().map(gauge).collect()
    }

    fn worker<'p>(
        &'p self,
        part: &'p Part,
        gauge: &'p Gauge,
        teller: &Sender<Event>,
    ) -> Worker<'p> {
        Worker {
            number: part.number,
            target: &part.target,
            device: &part.device,
            keys: part.keys.as_ref(),
            journal: self.journal,
            gauge,
            teller: Teller::new(part.number, teller.clone()),
            interrupt: self.interrupt,
            plan: part.plan,
            transfer: self.transfer,
            interval: self.interval,
        }
    }

    /// Shows what happens until all drives have ended.
    fn watch(&self, events: &Receiver<Event>, show: &mut Show<'_>) -> Result<(), Failure> {
        let mut shown = Ok(());
        let mut next_tick = Instant::now() + TICK;
        let mut is_told = false;
        loop {
            let patience = next_tick.saturating_duration_since(Instant::now());
            match events.recv_timeout(patience) {
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
            let what = What::Note(text);
            show.event(&Event { drive, what })?;
        }
        Ok(())
    }
}
