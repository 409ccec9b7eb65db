//! The sources of a run: which are there, what became of each, and how they are measured together.

use squall_tools::Failure;
use squall_tools::measure::contest::{Budget, Contestant};

use crate::child;
use crate::go::Program;
use crate::machine;
use crate::measure::{Failed, Place};
use crate::remote::Remote;
use crate::report::model::{SourceReport, State, Workload};
use crate::sanity;
use crate::session::Session;
use crate::source::Source;
use crate::sources::{self, Entry, RunsIn, memory};

pub struct Candidate {
    pub entry: &'static Entry,
    state: State,
    reason: Option<String>,
    ready: Option<Ready>,
}

/// A source that is ready for use.
enum Ready {
    Local(Box<dyn Source>),
    Remote(Remote),
}

impl Candidate {
    fn open(entry: &'static Entry, go: &Result<Program, String>) -> Candidate {
        let mut candidate = Candidate {
            entry,
            state: State::Measured,
            reason: None,
            ready: None,
        };
        match ready(entry, go) {
            Ok(ready) => candidate.ready = ready,
            Err(reason) => candidate.end(State::Missing, reason),
        }
        candidate
    }

    /// Looks at what the source gives.
    fn check(&mut self) {
        let Some(source) = self.source() else { return };
        let checked = sanity::check(source);
        // It stands for the memory and not for randomness.
        if self.entry.name == memory::NAME {
            return;
        }
        match checked {
            Ok(None) => {}
            Ok(Some(complaint)) => self.end(State::Disqualified, complaint),
            Err(failure) => self.end(State::Failed, failure.into_text()),
        }
    }

    fn end(&mut self, state: State, reason: String) {
        self.state = state;
        self.reason = Some(reason);
        self.ready = None;
    }

    pub fn source(&mut self) -> Option<&mut dyn Source> {
        match self.ready.as_mut()? {
            Ready::Local(source) => Some(source.as_mut()),
            Ready::Remote(remote) => Some(remote),
        }
    }

    /// The process that it runs in, if that is another one.
    pub fn remote(&mut self) -> Option<&mut Remote> {
        match self.ready.as_mut()? {
            Ready::Local(_) => None,
            Ready::Remote(remote) => Some(remote),
        }
    }

    /// Why it is not measured; empty if it is.
    pub fn reason(&self) -> &str {
        self.reason.as_deref().unwrap_or_default()
    }

    /// Marks it as failed.
    pub fn fail(&mut self, reason: String) {
        self.end(State::Failed, reason);
    }

    fn report(&self) -> SourceReport {
        let caveat = self.entry.caveat;
        SourceReport {
            name: self.entry.name.into(),
            title: self.entry.title.into(),
            group: self.entry.group,
            secure: self.entry.secure && self.state != State::Disqualified,
            caveat: (!caveat.is_empty()).then(|| caveat.into()),
            state: self.state,
            reason: self.reason.clone(),
        }
    }
}

/// The source of `entry`; none if only programs of their own have it.
fn ready(entry: &'static Entry, go: &Result<Program, String>) -> Result<Option<Ready>, String> {
    let remote = match entry.runs_in {
        RunsIn::ThisProcess => return (entry.open)().map(Ready::Local).map(Some),
        RunsIn::OtherProgram => return Ok(None),
        RunsIn::OwnProcess(setting) => {
            // Alone on the CPU that sources of this process are measured on; it inherits that.
            let cpus = machine::cpus();
            machine::pin(&cpus);
            let child = child::start(entry.name, setting);
            machine::unpin(&cpus);
            child
        }
        RunsIn::GoProgram(name) => go.as_ref().map_err(Clone::clone)?.source(name),
    };
    remote
        .map(Ready::Remote)
        .map(Some)
        .map_err(Failure::into_text)
}

/// The sources of this run, in the order of tables.
pub struct Candidates(pub Vec<Candidate>);

impl Candidates {
    /// Opens those that `is_wanted`, and looks at what they give.
    pub fn open(
        is_wanted: impl Fn(&Entry) -> bool,
        go: &Result<Program, String>,
        session: &Session,
    ) -> Candidates {
        let mut candidates = Self::unchecked(is_wanted, go);
        for candidate in &mut candidates.0 {
            candidate.check();
            session.tick();
        }
        candidates
    }

    pub fn unchecked(
        is_wanted: impl Fn(&Entry) -> bool,
        go: &Result<Program, String>,
    ) -> Candidates {
        let wanted = sources::all().filter(|entry| is_wanted(entry));
        Candidates(wanted.map(|entry| Candidate::open(entry, go)).collect())
    }

    /// Those of `contestants` whose sources are measured.
    pub fn choose<'a>(&self, contestants: Vec<Contestant<'a>>) -> Vec<Contestant<'a>> {
        let is_measured = |name: &str| {
            let named = self.0.iter().find(|c| c.entry.name == name);
            named.is_some_and(|candidate| candidate.state == State::Measured)
        };
        contestants
            .into_iter()
            .filter(|contestant| is_measured(&contestant.name))
            .collect()
    }

    pub fn reports(&self) -> Vec<SourceReport> {
        self.0.iter().map(Candidate::report).collect()
    }

    /// Measures those that `is_measured` in turns by `batch`, and adds what they took to
    /// `workload` at `place`.
    pub fn measure(
        &mut self,
        workload: &mut Workload,
        place: Place,
        budget: Budget,
        session: &Session,
        is_measured: impl Fn(&Entry) -> bool,
        batch: impl Fn(&Entry, &mut dyn Source, u64) -> Result<f64, Failure>,
    ) {
        let measured = self.0.iter_mut().filter(|c| is_measured(c.entry));
        let contestant = |candidate| contestant(candidate, &batch);
        let contestants = measured.filter_map(contestant).collect();
        let failed = workload.measure(place, contestants, budget, session);
        self.fail(failed);
    }

    /// Marks these as failed.
    pub fn fail(&mut self, failed: Vec<Failed>) {
        for (name, reason) in failed {
            self.fail_one(&name, reason);
        }
    }

    fn fail_one(&mut self, name: &str, reason: String) {
        let named = self.0.iter_mut().find(|c| c.entry.name == name);
        if let Some(candidate) = named {
            candidate.fail(reason);
        }
    }
}

/// A contestant for `candidate`, if it is there.
fn contestant<'a>(
    candidate: &'a mut Candidate,
    batch: &'a impl Fn(&Entry, &mut dyn Source, u64) -> Result<f64, Failure>,
) -> Option<Contestant<'a>> {
    let entry = candidate.entry;
    let source = candidate.source()?;
    let batch = move |calls| batch(entry, source, calls).map_err(Failure::into_text);
    Some(Contestant::new(entry.name, batch))
}
