//! The report: what `--json` writes and `--compare` reads. Keys are stable: new ones may be added,
//! none removed while [`SCHEMA`] stays.
//!
//! Everything that was timed is nanoseconds an operation, so less is better everywhere; rates
//! follow from the bytes of an operation.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use squall_tool_base::measure::Spread;
use squall_tool_base::units;

pub use crate::session::Effort;

/// The number of this form of report.
pub const SCHEMA: u32 = 1;

/// A run of `squall bench`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// The number of this form of report.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: u32,
    /// Version of squall.
    pub squall_version: String,
    /// When the run began: RFC 3339, UTC, whole seconds.
    #[schemars(with = "jiff::Timestamp")]
    pub date: String,
    /// How much was measured.
    pub effort: Effort,
    /// Whether the run came to its end; else workloads or points are missing.
    pub complete: bool,
    /// How long it took.
    #[schemars(range(min = 0.0))]
    pub seconds: f64,
    /// What it was measured on.
    pub machine: MeasuredMachine,
    /// How calm the machine was.
    pub noise: Noise,
    /// Every source that was asked for, in the order of tables.
    pub sources: Vec<SourceReport>,
    /// What was measured.
    pub workloads: Vec<Workload>,
    /// Which source to use here, in a few sentences.
    pub advice: String,
}

/// The machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MeasuredMachine {
    /// Name, family and model of the CPU.
    pub cpu: String,
    /// CPUs that this process may use.
    #[schemars(range(min = 1))]
    pub cpus: usize,
    /// As `uname -r` has it.
    pub kernel: String,
    /// The hypervisor's name; none on bare metal.
    pub hypervisor: Option<String>,
    /// How the kernel chooses the CPU's frequency, where it shows that.
    pub governor: Option<String>,
    /// Whether the thread that measures was bound to one CPU.
    pub pinned: bool,
    /// What one look at the clock costs, in nanoseconds. Batches are a millisecond: it is shown, and
    /// subtracted from first bytes alone.
    #[schemars(range(min = 0.0))]
    pub clock_ns: f64,
    /// Versions of the C library and of every peer that was found.
    pub versions: Vec<Version>,
    /// squall's engine.
    pub engine: String,
    /// What keeps a clone of this VM from repeating its sibling: see `squall status`.
    pub clone_guard: String,
    /// Codes of the warnings of `squall status`.
    pub warnings: Vec<String>,
}

/// The version of something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Version {
    /// What it is of.
    pub of: String,
    /// As it says itself.
    pub version: String,
}

/// How calm the machine was.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Noise {
    /// Median, over all points, of the distance of the quartiles as a percentage of the median.
    #[schemars(range(min = 0.0))]
    pub spread_percent: f64,
    /// Time that the hypervisor gave to others, as a percentage of this machine's.
    #[schemars(range(min = 0.0))]
    pub steal_percent: f64,
    /// The one-minute load average when the run began.
    #[schemars(range(min = 0.0))]
    pub load: f64,
    /// What is wrong with that, in one line; none if it is calm.
    pub warning: Option<String>,
}

/// Which family a source is of.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Group {
    /// squall's generator.
    Squall,
    /// The same with one thing changed, to see what it is worth: not ranked.
    Variant,
    /// The kernel's generator, however it is reached.
    Kernel,
    /// Generators of other libraries and languages.
    Library,
    /// Accumulators of entropy, asked for bytes.
    Accumulator,
    /// Not for secrets: fast numbers, and ciphers that make the same bytes of the same key.
    Other,
}

impl Group {
    /// All of them, in the order of tables.
    pub const ALL: [Group; 6] = [
        Group::Squall,
        Group::Variant,
        Group::Kernel,
        Group::Library,
        Group::Accumulator,
        Group::Other,
    ];
}

/// Whether a source was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// It was.
    Measured,
    /// It is not on this machine.
    Missing,
    /// It failed while it was measured.
    Failed,
    /// It gave bytes that cannot be random: it is ranked nowhere.
    Disqualified,
}

/// A source of random bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SourceReport {
    /// Its name on the command line and in workloads.
    pub name: String,
    /// Its name for people.
    pub title: String,
    /// Its family.
    pub group: Group,
    /// Fit for secrets: a cryptographic generator whose output neither a forked child nor a clone
    /// that the kernel noticed repeats.
    pub secure: bool,
    /// What is to be known of its security, if anything, in a few words.
    pub caveat: Option<String>,
    /// Whether it was measured.
    pub state: State,
    /// Why it was not.
    pub reason: Option<String>,
}

/// Something that sources were asked to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Workload {
    /// Its name, such as `fill`.
    pub name: String,
    /// What it is, for people.
    pub title: String,
    /// What one operation is, for people: "a request", "a run".
    pub operation: String,
    /// What a point's `at` is, for people: "bytes", "threads".
    pub axis: String,
    /// The source that stands for the kernel here, if one does.
    pub kernel: Option<String>,
    /// What was measured, a source each.
    pub series: Vec<Series>,
    /// What failed, a line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<String>,
}

/// What one source took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// The source's name.
    pub source: String,
    /// In the order of their `at`.
    pub points: Vec<Point>,
}

/// What one source took at one place of the axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Point {
    /// The place: a length, a number of threads.
    pub at: u64,
    /// Random bytes that an operation makes; 0 where a rate means nothing.
    pub bytes: u64,
    /// Nanoseconds an operation.
    pub ns: Figure,
}

/// What a batch took, a sample each round; the samples of other sources at the same place are of
/// the same rounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figure {
    /// The lower quartile.
    #[schemars(range(min = 0.0))]
    pub low: f64,
    /// The median.
    #[schemars(range(min = 0.0))]
    pub median: f64,
    /// The upper quartile.
    #[schemars(range(min = 0.0))]
    pub high: f64,
    /// All of them, in the order of rounds.
    #[schemars(length(min = 1), inner(range(min = 0.0)))]
    pub samples: Vec<f64>,
}

impl Figure {
    /// Of samples, of which there is at least one.
    pub fn from_samples(samples: Vec<f64>) -> Figure {
        let Spread { low, median, high } = Spread::of(samples.clone());
        Figure {
            low,
            median,
            high,
            samples,
        }
    }

    /// How many times as fast as `other` this is, a ratio for each round that both have.
    pub fn speedup_over(&self, other: &Figure) -> Spread {
        let rounds = self.samples.iter().zip(&other.samples);
        Spread::of(rounds.map(|(own, other)| other / own).collect())
    }

    /// The distance of the quartiles as a part of the median.
    pub fn relative_spread(&self) -> f64 {
        (self.high - self.low) / self.median
    }
}

impl Point {
    /// Bytes a second; none where bytes say nothing.
    pub fn rate(&self) -> Option<f64> {
        (self.bytes > 0).then(|| self.bytes as f64 / self.ns.median * 1e9)
    }
}

impl Workload {
    /// A workload without figures yet.
    pub fn new(
        name: &str,
        title: &str,
        operation: &str,
        axis: &str,
        kernel: Option<&str>,
    ) -> Workload {
        Workload {
            name: name.into(),
            title: title.into(),
            operation: operation.into(),
            axis: axis.into(),
            kernel: kernel.map(Into::into),
            series: Vec::new(),
            failures: Vec::new(),
        }
    }

    /// The series of the source named `source`.
    pub fn series(&self, source: &str) -> Option<&Series> {
        self.series.iter().find(|series| series.source == source)
    }

    /// What the source named `source` took at `at`.
    pub fn point(&self, source: &str, at: u64) -> Option<&Point> {
        let points = &self.series(source)?.points;
        points.iter().find(|point| point.at == at)
    }

    /// A place of the axis, for people.
    pub fn place(&self, at: u64) -> String {
        match self.axis.as_str() {
            "bytes" => units::length(at),
            axis if at == 1 => format!("1 {}", axis.trim_end_matches('s')),
            axis => format!("{at} {axis}"),
        }
    }

    /// How many times as fast as the kernel's source `point` is; none where that was not measured
    /// at the same place.
    pub fn speedup_over_kernel(&self, point: &Point) -> Option<f64> {
        let kernel = self.point(self.kernel.as_deref()?, point.at)?;
        Some(point.ns.speedup_over(&kernel.ns).median)
    }

    /// The places of the axis where anything was measured, in order.
    pub fn places(&self) -> Vec<u64> {
        let points = self.series.iter().flat_map(|series| &series.points);
        let mut places: Vec<u64> = points.map(|point| point.at).collect();
        places.sort_unstable();
        places.dedup();
        places
    }
}

impl Report {
    /// The workload named `name`.
    pub fn workload(&self, name: &str) -> Option<&Workload> {
        self.workloads.iter().find(|workload| workload.name == name)
    }

    /// The source named `name`.
    pub fn source(&self, name: &str) -> Option<&SourceReport> {
        self.sources.iter().find(|source| source.name == name)
    }

    /// The title of the source named `name`.
    pub fn title<'a>(&'a self, name: &'a str) -> &'a str {
        self.source(name).map_or(name, |source| &source.title)
    }

    /// The fastest among the sources that are fit for secrets, at `at` of `workload`.
    pub fn winner<'a>(&self, workload: &'a Workload, at: u64) -> Option<&'a str> {
        let is_rival = |source: &SourceReport| source.secure && source.group != Group::Variant;
        let is_secure = |name: &str| self.source(name).is_some_and(is_rival);
        let series = workload.series.iter();
        let secure = series.filter(|series| is_secure(&series.source));
        let times = secure.filter_map(|series| {
            let point = series.points.iter().find(|point| point.at == at)?;
            Some((series.source.as_str(), point.ns.median))
        });
        let fastest = times.min_by(|(_, one), (_, other)| one.total_cmp(other));
        fastest.map(|(name, _)| name)
    }
}

/// Names of workloads.
pub mod workload {
    /// Requests of one `u32` (at 4) and one `u64` (at 8).
    pub const WORDS: &str = "words";
    /// Requests by their length in bytes.
    pub const FILL: &str = "fill";
    /// Requests of 32 bytes by the number of threads that make them.
    pub const THREADS_SMALL: &str = "threads-32";
    /// Requests of 16 KiB by the number of threads that make them.
    pub const THREADS_LARGE: &str = "threads-16384";
    /// Blocks through a pipe, by their length in bytes.
    pub const PIPE: &str = "pipe";
    /// The first 32 bytes of a new process (at 32).
    pub const START: &str = "start";
    /// A fork, by the bytes that the child draws before it exits.
    pub const FORK: &str = "fork";
}
