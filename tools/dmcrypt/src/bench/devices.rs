//! Encrypted devices, measured side by side with the device below them.

use std::sync::Arc;

use rustix::fs::OFlags;
use squall_tools::{Failure, Interrupt};

use super::choice::Chosen;
use crate::args::BenchArguments;
use crate::backing::Backing;
use crate::crypt::{self, Key};
use crate::mapper::Mapped;
use crate::measure::{self, Plan, Subject};
use crate::model::{Failed, Figure, Measured, Options};
use crate::progress::Progress;
use crate::rank;
use crate::report::words;
use crate::session::Session;

/// How many devices exist at once; a process may have only so many files open.
const GROUP: usize = 64;

/// Measurements on one backing device.
pub struct Run<'a> {
    /// The session in which devices are made.
    pub session: &'a Session,
    /// The device below the encrypted ones.
    pub backing: &'a Backing,
    /// The user's options: rounds and sample length.
    pub options: &'a BenchArguments,
    /// Ends the run early when the user interrupts it.
    pub interrupt: &'a Interrupt,
    /// How many devices were made; their names are numbered by it.
    pub devices: usize,
    /// Specifications whose measurement failed.
    pub failures: Vec<Failed>,
    /// False once the run was interrupted.
    pub is_complete: bool,
}

/// A list for each workload with the bytes per second of every round.
type Samples = Vec<Vec<f64>>;

/// A specification with its options, and its device while it is measured.
struct MeasuredDevice {
    chosen: Chosen,
    options: Options,
    device: Mapped,
}

impl Run<'_> {
    /// Overwrites the backing device with random data, so that all of it can be read.
    pub fn prepare(&self) -> Result<(), Failure> {
        let progress = Progress::begin(self.backing.about.bytes, "random data".into());
        let goes_on = || !self.interrupt.is_noted();
        measure::prepare(&self.backing.subject(), &goes_on, &|bytes| {
            progress.reach(bytes, "")
        })?;
        self.interrupt.check()
    }

    /// The figures of the backing device, and of all `wanted`, best first. Large numbers are measured
    /// in groups, each beside the backing device.
    pub fn all(
        &mut self,
        wanted: Vec<(Chosen, Options)>,
    ) -> Result<(Vec<Figure>, Vec<Measured>), Failure> {
        let mut raw = Samples::new();
        let mut measured = Vec::new();
        let groups = wanted.chunks(GROUP);
        let count = groups.len();
        for (number, group) in groups.enumerate() {
            let title = match count {
                1 => "encrypted devices".to_owned(),
                _ => format!("encrypted devices, group {} of {count}", number + 1),
            };
            let (beside, of_group) = match self.side_by_side(group, title) {
                Err(_) if number > 0 && self.interrupt.is_noted() => {
                    self.is_complete = false;
                    break;
                }
                measured => measured?,
            };
            append(&mut raw, beside);
            measured.extend(of_group);
            if !self.is_complete {
                break;
            }
        }
        rank::sort(&mut measured);
        Ok((rank::figures(&raw, &raw), measured))
    }

    /// Measures the best few of `ranking` with other options, and gives them best first. If that
    /// fails, the failure is noted and the ranking stays valid.
    pub fn variants(&mut self, ranking: &[Measured]) -> Vec<Measured> {
        let variants = rank::variants(ranking).into_iter();
        let wanted: Vec<(Chosen, Options)> = variants
            .map(|(best, options)| (Chosen::of(best), options))
            .collect();
        match self.side_by_side(&wanted, "sectors and flags".into()) {
            Ok((_, mut measured)) => {
                rank::sort(&mut measured);
                measured
            }
            Err(failure) => {
                self.is_complete = false;
                self.failures.push(Failed {
                    name: "sizes of sectors and flags".into(),
                    reason: failure.into_text(),
                });
                Vec::new()
            }
        }
    }

    /// Measures `wanted` beside the backing device; returns its samples and their results.
    fn side_by_side(
        &mut self,
        wanted: &[(Chosen, Options)],
        title: String,
    ) -> Result<(Samples, Vec<Measured>), Failure> {
        // Must be dropped after `subjects`, because a device is removed once nobody has it open.
        let mut stands = Vec::new();
        let mut subjects = vec![self.backing.subject()];
        for (chosen, options) in wanted {
            self.interrupt.check()?;
            match self.open_device(chosen, *options) {
                Ok((stand, subject)) => {
                    stands.push(stand);
                    subjects.push(subject);
                }
                Err(failure) => self.failed(chosen, *options, failure.into_text()),
            }
        }
        let taken = self.measure(&subjects, title);
        drop(subjects);
        self.measured(stands, taken)
    }

    /// Makes an encrypted device and opens it.
    fn open_device(
        &mut self,
        chosen: &Chosen,
        options: Options,
    ) -> Result<(MeasuredDevice, Subject), Failure> {
        let stand = MeasuredDevice {
            device: self.device(chosen, options)?,
            chosen: chosen.clone(),
            options,
        };
        let subject = stand.subject(self.backing.about.bytes)?;
        Ok((stand, subject))
    }

    /// Makes an encrypted device over the backing device, with a new key.
    fn device(&mut self, chosen: &Chosen, options: Options) -> Result<Mapped, Failure> {
        let number = self.devices;
        self.devices += 1;
        let key = Key::draw(chosen.spec.key_len());
        let (below, sectors) = (self.backing.number, self.backing.sectors());
        let table = crypt::table(&chosen.spec, options, &key, below, sectors);
        Mapped::start(&self.session.control, &number.to_string(), &table)
    }

    fn measure(&mut self, subjects: &[Subject], title: String) -> measure::Samples {
        let workloads = measure::workloads();
        let plan = Plan {
            rounds: self.options.rounds as usize,
            sample: self.options.sample(),
        };
        let turns = plan.rounds * workloads.len();
        let progress = Progress::begin(turns as u64, title);
        let turn = |done: usize, _| {
            let what = &workloads[(done - 1) % workloads.len()].title;
            progress.reach(done as u64, what);
        };
        let goes_on = || !self.interrupt.is_noted();
        let taken = measure::run(subjects, &workloads, plan, &goes_on, &turn);
        self.is_complete &= taken.rounds == plan.rounds;
        taken
    }

    fn measured(
        &mut self,
        stands: Vec<MeasuredDevice>,
        taken: measure::Samples,
    ) -> Result<(Samples, Vec<Measured>), Failure> {
        let mut subjects = taken.subjects.into_iter();
        let raw = subjects.next().unwrap_or_else(|| Ok(Vec::new()));
        let raw = raw
            .map_err(|reason| Failure::Runtime(format!("{}: {reason}", self.backing.about.name)))?;
        if taken.rounds == 0 {
            self.interrupt.check()?;
        }
        let mut measured = Vec::new();
        for (stand, samples) in stands.into_iter().zip(subjects) {
            match samples {
                Ok(samples) => measured.push(stand.measured(rank::figures(&samples, &raw))),
                Err(reason) => self.failed(&stand.chosen, stand.options, reason),
            }
        }
        Ok((raw, measured))
    }

    fn failed(&mut self, chosen: &Chosen, options: Options, reason: String) {
        self.failures.push(Failed {
            name: format!("{}, {}", chosen.spec, words::options(&options)),
            reason,
        });
    }
}

impl MeasuredDevice {
    /// Opens the device for measurement of its first `bytes`.
    fn subject(&self, bytes: u64) -> Result<Subject, Failure> {
        let file = self.device.open(OFlags::RDWR | OFlags::DIRECT)?;
        Ok(Subject {
            name: self.chosen.spec.to_string(),
            file: Arc::new(file),
            bytes,
        })
    }

    fn measured(self, figures: Vec<Figure>) -> Measured {
        Measured {
            spec: self.chosen.spec,
            options: self.options,
            verdict: self.chosen.verdict,
            stands_for: self.chosen.stands_for,
            score: rank::score(&figures),
            figures,
        }
    }
}

/// Appends the samples of another group.
fn append(all: &mut Samples, more: Samples) {
    all.resize(more.len(), Vec::new());
    for (all, more) in all.iter_mut().zip(more) {
        all.extend(more);
    }
}
