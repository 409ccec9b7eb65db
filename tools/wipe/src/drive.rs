//! One drive's part of a job, from its first pass to its outcome, in a thread of its own.

mod own_erase;

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use squall_drives::Health;
use squall_drives::io::Device;
use squall_tool_base::failure::cause;

use crate::args::TransferArguments;
use crate::content::Content;
use crate::content::Key;
use crate::journal::Journal;
use crate::keys::Keys;
use crate::machine::Clocks;
use crate::pass::{self, Found};
use crate::pipeline::Pipeline;
use crate::progress::{EventKind, EventSender, Phase, Progress};
use crate::ranges::Ranges;
use crate::record::{
    ContentKind, Drive, Extent, Level, Outcome, Pass, Plan, Scope, Transfer, Verification,
};
use crate::sample::samples;
use crate::task::{OpenTarget, Stop, changed_size};
use crate::text;
use crate::threads::Control;

/// A drive of a job that is not done yet.
pub struct PendingDrive {
    /// The drive's number in the job, counted from 0.
    pub number: usize,
    pub plan: Plan,
    pub device: Device,
    /// The keys, if the passes are random.
    pub keys: Option<Keys>,
}

/// The drives with these `numbers` in the job, each with its open device and its keys.
pub fn pending(
    plan: &Plan,
    numbers: impl IntoIterator<Item = usize>,
    devices: Vec<Device>,
    keys: Vec<Option<Keys>>,
) -> Vec<PendingDrive> {
    let all = numbers.into_iter().zip(devices).zip(keys);
    let drive = |((number, device), keys)| PendingDrive {
        number,
        plan: plan.clone(),
        device,
        keys,
    };
    all.map(drive).collect()
}

/// What a drive's thread works on and with.
pub struct Worker {
    pub drive: PendingDrive,
    pub journal: Arc<Journal>,
    pub progress: Arc<Progress>,
    pub events: EventSender,
    pub control: Arc<Control>,
    pub transfer: TransferArguments,
    /// Time between two checkpoints.
    pub interval: Duration,
    /// Whether the drive was asked for its temperature, and has not answered.
    pub owes_temperature: AtomicBool,
}

impl Worker {
    /// Does `work` in this thread. If it panics, the drive has failed, and the others go on.
    pub fn run(&self, work: fn(&Worker)) {
        if catch_unwind(AssertUnwindSafe(|| work(self))).is_err() {
            self.fail("squall failed (see the message)".into());
        }
    }

    /// Gives the drive up for this reason: records how far it was.
    pub fn give_up(&self, reason: &str) {
        let at = self.progress.read();
        let percent = text::percent(at.done, at.total);
        let passes = self.drive.plan.count();
        let place = match at.phase {
            Phase::Writing(number) => format!(", at {percent} % of pass {number}/{passes}"),
            Phase::Verifying(_) => format!(", at {percent} % of the verification"),
            Phase::Purging => format!(", at {percent} % of its own erase"),
            Phase::Waiting | Phase::Ended => String::new(),
        };
        self.fail(format!("{reason}{place}"));
    }

    /// Records that the drive failed for this reason, unless it has ended. From then on, its thread records nothing.
    pub fn fail(&self, reason: String) {
        let outcome = Outcome::Failed { reason };
        let is_recorded = self.journal.update(self.drive.number, |drive| {
            let is_open = drive.outcome.is_none();
            if is_open {
                drive.outcome = Some(outcome.clone());
                self.control.give_up();
            }
            is_open
        });
        if is_recorded {
            self.progress.end();
            // The report is written in the end, whether the journal can be saved now or not.
            let _ = self.journal.save();
            self.events.send(EventKind::Ended(outcome));
        }
    }

    /// Asks the drive for its temperature in the background: one that hangs may not answer, and nobody waits for it. If
    /// it still owes an answer, its temperature is not known.
    pub fn ask_temperature(self: &Arc<Worker>) {
        if self.owes_temperature.swap(true, Relaxed) {
            self.progress.set_temperature(None);
            return;
        }
        let its_own = self.clone();
        let ask = move || {
            let celsius = its_own.drive.device.target().temperature();
            its_own.progress.set_temperature(celsius);
            its_own.owes_temperature.store(false, Relaxed);
        };
        // Without a thread there is no temperature.
        let _ = thread::Builder::new().name("temperature".into()).spawn(ask);
    }

    /// Overwrites what has not been overwritten yet, and verifies.
    pub fn wipe(&self) {
        self.finish(|pipeline| {
            self.read_health();
            self.purge()?;
            let partitions = self.drive.device.check_partitions();
            partitions.map_err(|error| Stop::Failed(format!("partitions: {}", cause(&error))))?;
            let last = self.drive.plan.count();
            for number in 1..=last {
                self.overwrite(pipeline, number)?;
                if self.drive.plan.verify_each && number < last {
                    self.compare(pipeline, number)?;
                }
            }
            self.drive.device.forget_partitions();
            self.compare(pipeline, last)
        });
    }

    /// Records the health of a drive to which nothing was done yet.
    fn read_health(&self) {
        let is_new = self.update(|drive| {
            let purge = drive.purge.as_ref();
            drive.passes.is_empty() && purge.is_none_or(|purge| purge.began.is_none())
        });
        if is_new {
            let health = Health::read(&self.drive.device);
            self.update(|drive| drive.health.before = health);
        }
    }

    pub fn verify(&self) {
        self.finish(|pipeline| self.compare(pipeline, self.drive.plan.count()));
    }

    fn finish(&self, work: impl FnOnce(&mut Pipeline<'_>) -> Result<(), Stop>) {
        let begun = Clocks::now();
        let ended = self.pipeline().and_then(|mut pipeline| work(&mut pipeline));
        let ended = ended.and_then(|()| self.note_size());
        if let Some(text) = begun.note(&Clocks::now()) {
            self.update(|drive| drive.note(text.clone()));
            self.events.send(EventKind::Note { text });
        }
        let outcome = match ended {
            Ok(()) => self.update(|drive| Outcome::from_findings(drive)),
            Err(stop) => stop.into(),
        };
        let health = match outcome {
            Outcome::Vanished => None,
            _ => Health::read(&self.drive.device),
        };
        self.update(|drive| {
            drive.health.after = health;
            drive.outcome = Some(outcome.clone());
            drive.level = Level::reached_by(drive);
        });
        self.save();
        self.progress.end();
        self.events.send(EventKind::Ended(outcome));
    }

    /// Records the target's size if it has changed. What was added was neither overwritten nor compared.
    fn note_size(&self) -> Result<(), Stop> {
        let changed = changed_size(&self.drive.device)?;
        self.update(|drive| drive.size_at_end = changed.or(drive.size_at_end));
        Ok(())
    }

    fn pipeline(&self) -> Result<Pipeline<'_>, Stop> {
        let open = OpenTarget {
            device: &self.drive.device,
            progress: &self.progress,
            interrupt: &self.control,
            refused_in_a_row: None,
        };
        let pipeline = Pipeline::new(open, &self.transfer, self.interval, &self.events)?;
        let transfer = Transfer {
            direct: self.drive.device.is_direct(),
            queue: pipeline.queue.kind(),
        };
        self.update(|drive| drive.transfer = Some(transfer));
        Ok(pipeline)
    }

    /// Writes the pass of this number, or what an earlier run has left of it.
    fn overwrite(&self, pipeline: &mut Pipeline<'_>, number: u32) -> Result<(), Stop> {
        let keys = self.drive.keys.as_ref();
        let key = keys.and_then(|keys| keys.of_pass(number));
        let (kind, mut content) = self.content(number, key)?;
        let index = number as usize - 1;
        let begun = self.update(|drive| {
            if drive.passes.len() == index {
                drive.passes.push(new_pass(kind));
            }
            drive.passes[index].clone()
        });
        if begun.ended.is_some() {
            return Ok(());
        }
        let size = self.drive.device.target().identity.size;
        self.progress
            .begin(Phase::Writing(number), begun.offset, size);
        let offset = begun.offset;
        self.events.send(EventKind::Pass { number, offset });
        self.save();
        let clock = Instant::now();
        let keep = |pass: &mut Pass, offset, unwritten: &Ranges| {
            pass.offset = offset;
            pass.unwritten = unwritten.extents();
            pass.seconds = begun.seconds + clock.elapsed().as_secs_f64();
        };
        let mut save = |offset, unwritten: &Ranges| {
            self.update(|drive| keep(&mut drive.passes[index], offset, unwritten));
            self.save();
        };
        let unwritten = Ranges::before(&begun.unwritten, offset);
        pass::write(pipeline, &mut content, offset, unwritten, &mut save)?;
        self.update(|drive| drive.passes[index].ended = Some(Timestamp::now()));
        self.save();
        Ok(())
    }

    /// Compares what the pass of this number has written, or what an earlier run has left to compare.
    fn compare(&self, pipeline: &mut Pipeline<'_>, number: u32) -> Result<(), Stop> {
        let size = self.drive.device.target().identity.size;
        let scope = self.drive.plan.verify;
        let begun = self.verification(number, |found| found.clone());
        let is_overwritten = self.update(|drive| drive.passes.len() > number as usize);
        if is_overwritten || begun.as_ref().is_some_and(|begun| begun.ended.is_some()) {
            return Ok(());
        }
        let regions = match scope {
            Scope::None => return Ok(()),
            Scope::Full => vec![Extent::new(0, size)],
            Scope::Sample => samples(size, squall::u64),
        };
        let key = |keys| match number == self.drive.plan.count() {
            true => Keys::last(keys),
            false => keys.of_pass(number),
        };
        let (_, mut content) = self.content(number, self.drive.keys.as_ref().and_then(key))?;
        // Samples are chosen anew when a job is resumed.
        let begun = begun.filter(|_| scope == Scope::Full);
        let begun = begun.unwrap_or_else(|| Verification {
            scope,
            began: Timestamp::now(),
            ..Verification::default()
        });
        let offset = begun.offset;
        let left = regions.iter().filter(|region| region.end() > offset);
        let left = left.map(|region| {
            let from = region.offset.max(offset);
            Extent::new(from, region.end() - from)
        });
        let left: Vec<_> = left.collect();
        let total: u64 = regions.iter().map(|region| region.length).sum();
        let to_do: u64 = left.iter().map(|region| region.length).sum();
        self.progress
            .begin(Phase::Verifying(number), total - to_do, total);
        self.events.send(EventKind::Verification { number, offset });
        let clock = Instant::now();
        let mut save = |offset, found: &Found| {
            let seconds = begun.seconds + clock.elapsed().as_secs_f64();
            let now = Verification {
                offset,
                seconds,
                ..begun.clone()
            };
            self.verification(number, |place| *place = Some(found.onto(now)));
            self.save();
        };
        let found = Found::resumed(&begun);
        pass::compare(pipeline, &mut content, &left, found, &mut save)?;
        self.verification(number, |found| {
            if let Some(found) = found {
                found.ended = Some(Timestamp::now());
            }
        });
        self.save();
        Ok(())
    }

    fn content(&self, number: u32, key: Option<&Key>) -> Result<(ContentKind, Content), Stop> {
        let kind = self.drive.plan.content(number);
        let content = kind.and_then(|kind| Some((kind, Content::new(kind, key)?)));
        content.ok_or_else(|| Stop::Failed("its key is missing".into()))
    }

    /// Reads or changes the record of the verification after the pass of this number.
    fn verification<T>(
        &self,
        number: u32,
        change: impl FnOnce(&mut Option<Verification>) -> T,
    ) -> T {
        let is_last = number == self.drive.plan.count();
        self.update(|drive| {
            change(match is_last {
                true => &mut drive.verification,
                false => &mut drive.passes[number as usize - 1].verification,
            })
        })
    }

    /// Changes the drive's record, unless it was given up.
    fn update<T>(&self, change: impl FnOnce(&mut Drive) -> T) -> T {
        self.journal.update(self.drive.number, |drive| {
            match self.control.is_given_up() {
                true => change(&mut drive.clone()),
                false => change(drive),
            }
        })
    }

    /// Saves the journal. If that fails, the drive continues, and the user gets one note about it.
    fn save(&self) {
        if let Err(error) = self.progress.our_turn(|| self.journal.save()) {
            self.note_unsaved(&error);
        }
    }

    fn note_unsaved(&self, error: &io::Error) {
        let path = self.journal.path().display();
        let text = format!(
            "{path}: {}: progress is not saved, so after a power cut more must be written again",
            cause(error)
        );
        let is_known = |drive: &mut Drive| {
            let is_known = drive.notes.iter().any(|note| note.text == text);
            if !is_known {
                drive.note(text.clone());
            }
            is_known
        };
        if !self.update(is_known) {
            self.events.send(EventKind::Note { text });
        }
    }
}

fn new_pass(content: ContentKind) -> Pass {
    Pass {
        content,
        began: Timestamp::now(),
        ended: None,
        seconds: 0.0,
        offset: 0,
        unwritten: Vec::new(),
        verification: None,
    }
}
