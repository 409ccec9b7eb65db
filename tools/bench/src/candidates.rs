//! The sources of a run: which are there, what became of each, and how they are measured together, as points of a
//! workload.

use squall_tool_base::Failure;
use squall_tool_base::measure::contest::{Budget, Contestant, Outcome, in_turns};
use squall_tool_base::places::{self, PRELOAD};

use crate::child::{Child, Work};
use crate::go::Program;
use crate::machine;
use crate::remote::Remote;
use crate::report::model::{Figure, Point, Series, SourceReport, State, Workload};
use crate::session::Session;
use crate::sources::{self, Entry, MEMORY, RunsIn, Setting, Source};

pub struct Candidate {
    pub entry: &'static Entry,
    /// The source, none if only programs of their own have it; or why it is not measured.
    source: Result<Option<Box<dyn Source>>, (State, String)>,
}

impl Candidate {
    fn open(entry: &'static Entry, go: &Result<Program, String>) -> Candidate {
        let source = open(entry, go).map_err(|reason| (State::Missing, reason));
        Candidate { entry, source }
    }

    /// Looks at what the source gives; the memory stands for itself and not for randomness.
    fn check(&mut self) {
        let is_memory = self.entry.name == MEMORY;
        let Some(source) = self.source().filter(|_| !is_memory) else {
            return;
        };
        match sources::check(source) {
            Ok(None) => {}
            Ok(Some(complaint)) => self.source = Err((State::Disqualified, complaint)),
            Err(failure) => self.fail(failure.into_text()),
        }
    }

    pub fn source(&mut self) -> Option<&mut dyn Source> {
        match &mut self.source {
            Ok(Some(source)) => Some(source.as_mut()),
            _ => None,
        }
    }

    /// Why it cannot be drawn from.
    pub fn reason(&self) -> &str {
        match &self.source {
            Err((_, reason)) => reason,
            Ok(_) => "it is a separate program: run it yourself",
        }
    }

    fn fail(&mut self, reason: String) {
        self.source = Err((State::Failed, reason));
    }

    fn report(&self) -> SourceReport {
        let Entry { caveat, .. } = self.entry;
        let (state, reason) = match &self.source {
            Ok(_) => (State::Measured, None),
            Err((state, reason)) => (*state, Some(reason.clone())),
        };
        SourceReport {
            name: self.entry.name.into(),
            title: self.entry.title.into(),
            group: self.entry.group,
            secure: self.entry.secure && state != State::Disqualified,
            caveat: (!caveat.is_empty()).then(|| (*caveat).into()),
            state,
            reason,
        }
    }
}

/// The source of `entry`; none if only programs of their own have it.
fn open(
    entry: &'static Entry,
    go: &Result<Program, String>,
) -> Result<Option<Box<dyn Source>>, String> {
    let remote = match entry.runs_in {
        RunsIn::ThisProcess => return (entry.open)().map(Some),
        RunsIn::OtherProgram => return Ok(None),
        RunsIn::OwnProcess(setting) => {
            // Alone on the CPU that sources of this process are measured on; it inherits that.
            let cpus = machine::cpus();
            machine::pin(&cpus);
            let child = start(entry.name, setting);
            machine::unpin(&cpus);
            child
        }
        RunsIn::GoProgram(name) => go.as_ref().map_err(Clone::clone)?.source(name),
    };
    match remote {
        Ok(remote) => Ok(Some(Box::new(remote))),
        Err(failure) => Err(failure.into_text()),
    }
}

/// Starts a child that serves the source named `name`, with `setting` in its environment.
fn start(name: &str, setting: Setting) -> Result<Remote, Failure> {
    let mut command = Child::new(Work::Serve, name, 0).command();
    match setting {
        Setting::None => &mut command,
        Setting::Variable(name, value) => command.env(name, value),
        Setting::Preload => command.env("LD_PRELOAD", places::find(PRELOAD, None)?),
    };
    Remote::start(command)
}

/// The sources of this run, in the order of tables.
pub struct Candidates(pub Vec<Candidate>);

impl Candidates {
    /// Opens those that `is_wanted`.
    pub fn open(is_wanted: impl Fn(&Entry) -> bool, go: &Result<Program, String>) -> Candidates {
        let wanted = sources::all().filter(|entry| is_wanted(entry));
        Candidates(wanted.map(|entry| Candidate::open(entry, go)).collect())
    }

    /// Looks at what they give.
    pub fn check(&mut self, session: &Session) {
        for candidate in &mut self.0 {
            candidate.check();
            session.tick();
        }
    }

    fn is_measured(&self, name: &str) -> bool {
        let mut measured = self.0.iter().filter(|candidate| candidate.source.is_ok());
        measured.any(|candidate| candidate.entry.name == name)
    }

    /// The fastest of the ways to the kernel's generator that are here, by name: the vDSO, or else
    /// the system call.
    pub fn kernel(&self) -> Option<&'static str> {
        let ways = ["vdso", "getrandom"];
        ways.into_iter().find(|name| self.is_measured(name))
    }

    pub fn reports(&self) -> Vec<SourceReport> {
        self.0.iter().map(Candidate::report).collect()
    }

    /// Measures those of `contestants` whose sources are measured, and adds what they took to
    /// `workload` at `place`.
    pub fn contest(
        &self,
        workload: &mut Workload,
        place: Place,
        budget: Budget,
        session: &Session,
        mut contestants: Vec<Contestant>,
    ) {
        contestants.retain(|contestant| self.is_measured(&contestant.name));
        workload.measure(place, contestants, budget, session);
    }

    /// Measures those that `is_wanted` in turns by `batch`, and adds what they took to `workload` at
    /// `place`. A source that fails is not measured again.
    pub fn measure(
        &mut self,
        workload: &mut Workload,
        place: Place,
        budget: Budget,
        session: &Session,
        is_wanted: impl Fn(&Entry) -> bool,
        batch: impl Fn(&Entry, &mut dyn Source, u64) -> Result<f64, Failure>,
    ) {
        let wanted = self.0.iter_mut().filter(|c| is_wanted(c.entry));
        let contestants = wanted.filter_map(|candidate| {
            let entry = candidate.entry;
            let source = candidate.source()?;
            let batch = &batch;
            let batch = move |calls| batch(entry, source, calls).map_err(Failure::into_text);
            Some(Contestant::new(entry.name, batch))
        });
        for (name, reason) in workload.measure(place, contestants.collect(), budget, session) {
            let mut all = self.0.iter_mut();
            if let Some(candidate) = all.find(|candidate| candidate.entry.name == name) {
                candidate.fail(reason);
            }
        }
    }
}

/// A place on the axis of a workload.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    pub at: u64,
    /// Random bytes of an operation; 0 where a rate means nothing.
    pub bytes: u64,
}

impl Place {
    /// The length of an operation in bytes, all of which are random.
    pub fn of_bytes(bytes: u64) -> Place {
        Place { at: bytes, bytes }
    }
}

/// A contestant whose batches are one `run` each, which gives the nanoseconds of an operation.
pub fn single<'a>(
    source: &str,
    mut run: impl FnMut() -> Result<f64, Failure> + 'a,
) -> Contestant<'a> {
    Contestant::new(source, move |_| run().map_err(Failure::into_text))
}

impl Workload {
    /// Measures `contestants`, whose names are sources', in turns, and adds what they took at `place`.
    /// The report names each that failed; gives their names and why.
    pub fn measure(
        &mut self,
        place: Place,
        mut contestants: Vec<Contestant>,
        budget: Budget,
        session: &Session,
    ) -> Vec<(String, String)> {
        let goes_on = || {
            session.tick();
            !session.is_interrupted()
        };
        let orders = &mut *session.orders.borrow_mut();
        let outcomes = in_turns(&mut contestants, budget, orders, &goes_on);
        let mut failed = Vec::new();
        for (contestant, outcome) in contestants.into_iter().zip(outcomes) {
            match outcome {
                Outcome::Samples(samples) if samples.iter().all(|&ns| ns > 0.0) => {
                    self.add(&contestant.name, place, samples);
                }
                Outcome::Samples(_) => failed.push((contestant.name, "it took no time".into())),
                Outcome::Failed(reason) => failed.push((contestant.name, reason)),
            }
        }
        let line = |(name, reason): &(String, String)| {
            format!("{name}, {}: {reason}", self.place(place.at))
        };
        let lines: Vec<String> = failed.iter().map(line).collect();
        self.failures.extend(lines);
        failed
    }

    /// Adds what the source named `source` took at `place`, behind what it has taken there already.
    fn add(&mut self, source: &str, place: Place, samples: Vec<f64>) {
        if samples.is_empty() {
            return;
        }
        let known = self.series.iter().position(|it| it.source == source);
        let index = known.unwrap_or_else(|| {
            self.series.push(Series {
                source: source.into(),
                points: Vec::new(),
            });
            self.series.len() - 1
        });
        let points = &mut self.series[index].points;
        match points.iter_mut().find(|point| point.at == place.at) {
            Some(point) => {
                point.ns = Figure::from_samples([&point.ns.samples[..], &samples].concat())
            }
            None => points.push(Point {
                at: place.at,
                bytes: place.bytes,
                ns: Figure::from_samples(samples),
            }),
        }
    }
}
