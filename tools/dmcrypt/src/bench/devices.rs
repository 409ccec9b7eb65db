//! Encrypted devices, measured side by side with the device below them.
//!
//! dm-integrity formats what is below it and refuses to read what was not written through it, so authenticated devices
//! cannot share the same bytes: each has a part of the backing device, and so have the device without encryption and
//! the best unauthenticated specification, which are measured in the same rounds.

use std::rc::Rc;
use std::sync::Arc;

use rustix::fs::OFlags;
use squall_drives::Number;
use squall_tool_base::{Failure, Interrupt};

use super::choice::{self, AUTHENTICATED, Wanted};
use crate::args::BenchArguments;
use crate::backing::Backing;
use crate::crypt::{self, Key};
use crate::integrity::Layout;
use crate::mapper::{Control, Mapped, Table};
use crate::measure::{self, Plan, Subject, WorkloadSamples};
use crate::model::{Failed, Figure, Measured, Options};
use crate::session::{Progress, Session};
use crate::spec::Spec;
use crate::{rank, rules};

/// How many devices exist at once; a process may have only so many files open.
const GROUP: usize = 64;

/// Measurements on one backing device.
pub struct Run<'a> {
    pub session: &'a Session,
    pub backing: &'a Backing,
    /// The user's options: rounds and sample length.
    pub options: &'a BenchArguments,
    pub interrupt: &'a Interrupt,
    /// How many devices were made; their names are numbered by it.
    pub devices: usize,
    pub failures: Vec<Failed>,
    /// False once the run was interrupted.
    pub is_complete: bool,
}

/// The size of sectors: the larger they are, the fewer tags there are.
const SECTOR_SIZE: u32 = 4096;

/// What a device did, for each workload.
type Samples = Vec<WorkloadSamples>;

/// A specification, and its devices while it is measured.
struct MeasuredDevice<'a> {
    wanted: &'a Wanted,
    /// The encrypted one, and those below it in the order in which they are removed.
    devices: Vec<Mapped>,
}

impl Run<'_> {
    /// Overwrites a whole device with random data, so that all of it can be read: dm-integrity refuses to read what
    /// was not written.
    pub fn write_all(&self, subject: &Subject, title: String) -> Result<(), Failure> {
        let progress = Progress::begin(subject.bytes, title);
        let goes_on = || !self.interrupt.is_noted();
        measure::prepare(subject, &goes_on, &|bytes| progress.reach(bytes, ""))?;
        self.interrupt.check()
    }

    /// The figures of the backing device, and of all `wanted`, best first. Large numbers are measured
    /// in groups, each beside the backing device.
    pub fn all(&mut self, wanted: &[Wanted]) -> Result<(Vec<Figure>, Vec<Measured>), Failure> {
        let mut raw = Samples::new();
        let mut measured = Vec::new();
        let groups = wanted.chunks(GROUP);
        let count = groups.len();
        for (number, group) in groups.enumerate() {
            let title = match count {
                1 => "encrypted devices".to_owned(),
                _ => format!("encrypted devices, group {} of {count}", number + 1),
            };
            let (baseline, of_group) = match self.side_by_side(group, title, None) {
                Err(_) if number > 0 && self.interrupt.is_noted() => {
                    self.is_complete = false;
                    break;
                }
                measured => measured?,
            };
            append(&mut raw, baseline);
            measured.extend(of_group);
            if !self.is_complete {
                break;
            }
        }
        rank::sort(&mut measured);
        Ok((rank::figures(&raw, &raw), measured))
    }

    /// Measures the best few of `ranking` with other options, and gives them best first.
    pub fn variants(&mut self, ranking: &[Measured]) -> Vec<Measured> {
        let wanted = rank::variants(ranking);
        if wanted.is_empty() || !self.is_complete {
            return Vec::new();
        }
        self.measure_with_baseline(&wanted, "sectors and flags", None)
            .1
    }

    /// Measures `specs` with a journal and without, and gives them best first, with the best of
    /// `ranking` among them, after the figures of the backing device. If that fails, the failure is noted
    /// and everything else stays valid.
    pub fn authenticated(
        &mut self,
        specs: &[Spec],
        ranking: &[Measured],
    ) -> (Vec<Figure>, Vec<Measured>) {
        if specs.is_empty() || !self.is_complete {
            return (Vec::new(), Vec::new());
        }
        let options = |journal| Options {
            sector_size: SECTOR_SIZE,
            journal,
            ..Options::PLAIN
        };
        let best = rank::best(ranking).into_iter().take(1);
        let best = best.map(|best| Wanted::again(best, options(None)));
        let each = specs.iter().flat_map(|spec| {
            [true, false].map(|journal| Wanted {
                spec: spec.clone(),
                options: options(Some(journal)),
                stands_for: Vec::new(),
            })
        });
        let wanted: Vec<Wanted> = best.chain(each).collect();
        let part = match choice::part(self.backing.about.bytes, wanted.len() + 1) {
            Ok(part) => part,
            Err(failed) => {
                self.failures.push(failed);
                return (Vec::new(), Vec::new());
            }
        };
        self.measure_with_baseline(&wanted, AUTHENTICATED, Some(part))
    }

    /// Measures `wanted`, and gives them best first, after the figures of the backing device. If that
    /// fails, the failure is noted under the name `what`, and everything else stays valid.
    fn measure_with_baseline(
        &mut self,
        wanted: &[Wanted],
        what: &str,
        part: Option<u64>,
    ) -> (Vec<Figure>, Vec<Measured>) {
        match self.side_by_side(wanted, what.into(), part) {
            Ok((raw, mut measured)) => {
                rank::sort(&mut measured);
                (rank::figures(&raw, &raw), measured)
            }
            Err(failure) => {
                self.is_complete = false;
                self.failures.push(Failed {
                    name: what.into(),
                    reason: failure.into_text(),
                });
                (Vec::new(), Vec::new())
            }
        }
    }

    /// Measures `wanted` beside the backing device; returns its samples and their results. All use the
    /// same bytes, or, if `part` is given, each so many bytes of its own.
    fn side_by_side(
        &mut self,
        wanted: &[Wanted],
        title: String,
        part: Option<u64>,
    ) -> Result<(Samples, Vec<Measured>), Failure> {
        // Must be dropped after `subjects`, because a device is removed once nobody has it open.
        let mut stands = Vec::new();
        let mut raw = self.backing.subject();
        raw.bytes = part.unwrap_or(raw.bytes);
        let mut subjects = vec![raw];
        for (number, wanted) in (1..).zip(wanted) {
            self.interrupt.check()?;
            let place = part.map(|bytes| (number * bytes, bytes));
            match self.open_device(wanted, place) {
                Ok((stand, subject)) => {
                    stands.push(stand);
                    subjects.push(subject);
                }
                Err(failure) => self.failed(wanted, failure.into_text()),
            }
        }
        let samples = self.measure(&subjects, title);
        drop(subjects);
        let mut results = samples.subjects.into_iter();
        let raw = results.next().unwrap_or_else(|| Ok(Vec::new()));
        let raw = raw
            .map_err(|reason| Failure::Runtime(format!("{}: {reason}", self.backing.about.name)))?;
        if samples.rounds == 0 {
            self.interrupt.check()?;
        }
        let mut measured = Vec::new();
        for (stand, samples) in stands.into_iter().zip(results) {
            match samples {
                Ok(samples) => {
                    measured.push(with_figures(stand.wanted, rank::figures(&samples, &raw)))
                }
                Err(reason) => self.failed(stand.wanted, reason),
            }
        }
        Ok((raw, measured))
    }

    /// Makes an encrypted device at a place of the backing device (its first byte and its length), or
    /// over all of it, and opens it.
    fn open_device<'a>(
        &mut self,
        wanted: &'a Wanted,
        place: Option<(u64, u64)>,
    ) -> Result<(MeasuredDevice<'a>, Subject), Failure> {
        let label = self.devices.to_string();
        self.devices += 1;
        let control = &self.session.control;
        let (spec, options, backing) = (&wanted.spec, wanted.options, self.backing.number);
        let (number, sectors, below) = match place {
            Some(place) => below(control, &label, backing, place, spec, options)?,
            None => (backing, self.backing.about.bytes / 512, Vec::new()),
        };
        let key = Key::draw(spec.key_len());
        let table = crypt::table(spec, options, &key, number, sectors);
        let device = Mapped::start(control, &label, &table)?;
        let stand = MeasuredDevice {
            wanted,
            devices: [device].into_iter().chain(below).collect(),
        };
        // Declared after `stand`, so that it is dropped before: a device is removed once nobody has it open.
        let subject = Subject {
            name: spec.to_string(),
            file: Arc::new(stand.devices[0].open(OFlags::RDWR | OFlags::DIRECT)?),
            bytes: sectors * 512,
        };
        if options.journal.is_some() {
            self.write_all(&subject, format!("tags of {}", subject.name))?;
        }
        Ok((stand, subject))
    }

    fn measure(&mut self, subjects: &[Subject], title: String) -> measure::Samples {
        let workloads = measure::workloads();
        let plan = Plan {
            rounds: self.options.rounds as usize,
            sample: self.options.sample,
        };
        let turns = plan.rounds * workloads.len();
        let progress = Progress::begin(turns as u64, title);
        let turn = |done: usize| {
            let what = &workloads[(done - 1) % workloads.len()].title;
            progress.reach(done as u64, what);
        };
        let goes_on = || !self.interrupt.is_noted();
        let samples = measure::run(subjects, &workloads, plan, &goes_on, &turn);
        self.is_complete &= samples.rounds == plan.rounds;
        samples
    }

    fn failed(&mut self, wanted: &Wanted, reason: String) {
        self.failures.push(Failed {
            name: format!("{}, {}", wanted.spec, wanted.options.described()),
            reason,
        });
    }
}

/// A part of the backing device, and perhaps a device of dm-integrity over it: the number and the length (in sectors of
/// 512 bytes) of the upper one, and both.
fn below(
    control: &Rc<Control>,
    label: &str,
    backing: Number,
    (start, bytes): (u64, u64),
    spec: &Spec,
    options: Options,
) -> Result<(Number, u64, Vec<Mapped>), Failure> {
    let table = Table::new("linear", bytes / 512, format!("{backing} {}", start / 512));
    let part = Mapped::start(control, &format!("{label}-part"), &table)?;
    let Some(journal) = options.journal else {
        return Ok((part.number(), bytes / 512, vec![part]));
    };
    let layout = Layout {
        below: part.number(),
        metadata_len: spec.metadata_len(),
        sector_size: options.sector_size,
        journal,
    };
    let file = part.open(OFlags::RDWR | OFlags::DIRECT)?;
    let (device, sectors) = layout.format(control, &format!("{label}-integrity"), &file)?;
    Ok((device.number(), sectors, vec![device, part]))
}

fn with_figures(wanted: &Wanted, figures: Vec<Figure>) -> Measured {
    Measured {
        spec: wanted.spec.clone(),
        options: wanted.options,
        verdict: rules::judge(&wanted.spec).0,
        stands_for: wanted.stands_for.clone(),
        score: rank::score(&figures),
        figures,
    }
}

fn append(all: &mut Samples, more: Samples) {
    all.resize(more.len(), WorkloadSamples::default());
    for (all, more) in all.iter_mut().zip(more) {
        all.extend(more);
    }
}
