//! `squall dmcrypt bench`: measures encrypted devices beside the one below them, and recommends one.
//!
//! dm-integrity formats what is below it and refuses to read what was not written through it, so authenticated devices
//! cannot share the same bytes: each has a part of the backing device, and so have the device without encryption and
//! the best unauthenticated specification, which are measured in the same rounds.

use std::rc::Rc;
use std::sync::Arc;

use jiff::Timestamp;
use rustix::fs::OFlags;
use squall_drives::Number;
use squall_tool_base::reports::Reports;
use squall_tool_base::{Failure, Interrupt, output};

use crate::args::BenchArguments;
use crate::backing::{self, Backing};
use crate::choice::{self, AUTHENTICATED, Choice, Wanted};
use crate::mapper::{Control, Mapped, Table};
use crate::measure::{self, Plan, Subject, WorkloadSamples};
use crate::model::{BENCH_FORMAT, Bench, CpuAndKernel, Failed, Figure, Measured, Options};
use crate::ram::Ram;
use crate::session::{Progress, Session};
use crate::spec::Spec;
use crate::tables::{self, Key, Layout};
use crate::{rank, recommend, report, rules};

pub fn bench(options: &BenchArguments) -> Result<(), Failure> {
    let reports = Reports::open(&options.reports, options.export_html.as_deref())?;
    let interrupt = Interrupt::watch("the report has what was measured so far")?;
    // The survey takes minutes, so a wrong device is reported before it.
    if let Some(path) = &options.device {
        backing::find_device(path, options.size)?;
    }
    let session = Session::begin()?;
    let choice = choice::choose(&session, options, &interrupt)?;
    interrupt.check()?;
    let report = run_on_backing(&session, options, choice, &interrupt)?;
    let document = report::document::document(&report);
    let page = || document.page();
    let text = || document.text(output::width());
    reports.give(&report, || report::lines(&report), page, text)?;
    if report.is_complete {
        Ok(())
    } else {
        interrupt.check()
    }
}

fn run_on_backing(
    session: &Session,
    options: &BenchArguments,
    choice: Choice,
    interrupt: &Interrupt,
) -> Result<Bench, Failure> {
    if let Some(path) = &options.device {
        let backing = Backing::of_device(&session.control, path, &options.consent, options.size)?;
        return measure_and_report(session, &backing, options, choice, interrupt);
    }
    let report = Ram::make(options.size, |text| session.note(text)).and_then(|ram| {
        let backing = Backing::of_ram(&session.control, &ram, options.size)?;
        measure_and_report(session, &backing, options, choice, interrupt)
    });
    if !Ram::has_driver() {
        // If the note cannot be cleared, the next run clears it; the results are worth more.
        let _ = session.note("");
    }
    report
}

/// Measures the chosen specifications, then the best few with other options, then the authenticated
/// ones.
fn measure_and_report(
    session: &Session,
    backing: &Backing,
    options: &BenchArguments,
    choice: Choice,
    interrupt: &Interrupt,
) -> Result<Bench, Failure> {
    let mut run = Run {
        session,
        backing,
        options,
        interrupt,
        devices: 0,
        failures: Vec::new(),
        is_complete: true,
    };
    let at = Timestamp::now();
    run.write_all(&backing.subject(), "random data".into())?;
    let (raw, ranking) = run.all(&choice.measured)?;
    let variants = run.variants(&ranking);
    let (raw_beside, authenticated) = run.authenticated(&choice.authenticated, &ranking);
    // If only authenticated ones were measured, the device without encryption was measured with them.
    let raw = if raw.is_empty() { raw_beside } else { raw };
    let machine = CpuAndKernel::this();
    let recommendation =
        recommend::recommend(&ranking, &variants, &backing.about, machine.is_emulated);
    Ok(Bench {
        format: BENCH_FORMAT,
        at,
        machine,
        backing: backing.about.clone(),
        rounds: options.rounds as usize,
        sample_ms: options.sample.as_millis() as u64,
        is_complete: run.is_complete,
        workloads: measure::workloads(),
        raw,
        ranking,
        variants,
        authenticated,
        left_out: choice.left_out,
        failures: run.failures,
        recommendation,
    })
}

/// How many devices exist at once; a process may have only so many files open.
const GROUP: usize = 64;

/// Measurements on one backing device.
struct Run<'a> {
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
        let table = tables::table(spec, options, &key, number, sectors);
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
