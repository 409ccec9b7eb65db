//! Two runs compared: what became faster or slower by more than the noise.
//!
//! Noise is of two kinds. Within a run it is in the samples: a change is one only if the 95 %
//! intervals of the two medians do not overlap. Between runs it is not: the same program may run
//! a few percent faster an hour later. That shows in how much all points scatter from one run to
//! the other, and a change is one only if it is well beyond that. What all sources have in common
//! is the machine's, and is removed first.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display, Formatter};
use std::path::Path;

use squall_tool_base::columns::{columns, lines};
use squall_tool_base::measure::{Spread, interval_of_median};
use squall_tool_base::{Failure, named_file, units};

use super::model::{Figure, Point, Report, SCHEMA, Workload};

/// Least change that is called one, in parts: so far medians of the same program moved between two
/// runs of a calm machine, minutes apart.
const CALM: f64 = 0.05;

/// Above this threshold, runs do not tell: what became half as fast again would pass for noise.
const NOISY: f64 = 0.5;

/// How many times the scatter between runs a change must be.
const BEYOND: f64 = 3.0;

/// A normal distribution's standard deviation, in median absolute deviations.
const DEVIATION: f64 = 1.4826;

/// Fewest sources that show whether the machine changed or they did.
const SOURCES: usize = 3;

/// What differs between two runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The dates of both.
    pub dates: [String; 2],
    /// What differs between the runs besides their figures, a line each.
    pub apart: Vec<String>,
    /// New time over old time, common to all sources; `None` if there are too few sources to know.
    /// It is removed from every change.
    pub common: Option<f64>,
    /// How large a change must be to be called one, in parts.
    pub threshold: f64,
    /// What became slower, the worst first.
    pub slower: Vec<Change>,
    /// What became faster, the best first.
    pub faster: Vec<Change>,
    /// How many points did not change.
    pub unchanged: usize,
    /// How many points only the old run and only the new run has.
    pub only: [usize; 2],
}

/// A point that changed.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The workload's name.
    pub workload: String,
    /// The source's name.
    pub source: String,
    /// The place, for people.
    pub at: String,
    /// Nanoseconds an operation, before and now.
    pub ns: [f64; 2],
    /// New time over old time, after removing the change common to all sources.
    pub ratio: f64,
}

struct Pair<'a> {
    workload: &'a Workload,
    source: &'a str,
    old: &'a Point,
    new: &'a Point,
}

/// Reads a report.
/// Fails if there is no such file, or it is no report of this schema.
pub fn read(path: &Path) -> Result<Report, Failure> {
    let of_path = |problem: String| Failure::Usage(format!("{}: {problem}", path.display()));
    let json: serde_json::Value =
        named_file::json(path, "JSON that squall bench --export-json wrote")?;
    match json.get("schema").and_then(serde_json::Value::as_u64) {
        Some(schema) if schema == u64::from(SCHEMA) => {}
        Some(schema) => {
            return Err(of_path(format!(
                "a report of schema {schema}, but this version uses schema {SCHEMA}: make it again \
                 with this version"
            )));
        }
        None => {
            return Err(of_path(
                "not a report of squall bench: it has no schema; name a file that --export-json \
                 wrote"
                    .into(),
            ));
        }
    }
    let report: Report = serde_json::from_value(json)
        .map_err(|error| of_path(format!("not a complete report: {error}")))?;
    match report.workloads.iter().find_map(first_unusable) {
        Some(place) => Err(of_path(format!("{place}: no times that can be compared"))),
        None => Ok(report),
    }
}

/// The first point without usable figures.
fn first_unusable(workload: &Workload) -> Option<String> {
    let is_time = |ns: &f64| ns.is_finite() && *ns > 0.0;
    let is_usable = |Figure {
                         median, samples, ..
                     }: &Figure| {
        is_time(median) && !samples.is_empty() && samples.iter().all(is_time)
    };
    workload.series.iter().find_map(|series| {
        let point = series.points.iter().find(|point| !is_usable(&point.ns))?;
        Some(format!(
            "{}, {}, {}",
            workload.name, series.source, point.at
        ))
    })
}

/// What `new` has that differs from `old`.
pub fn compare(old: &Report, new: &Report) -> Comparison {
    let pairs = pairs(old, new);
    let common = common(&pairs);
    let machine = common.unwrap_or(1.0);
    let threshold = threshold(&pairs, machine);
    let changes = pairs
        .iter()
        .filter_map(|pair| pair.change(machine, threshold));
    let (mut slower, mut faster): (Vec<_>, Vec<_>) = changes.partition(|c| c.ratio > 1.0);
    slower.sort_by(|one, other| other.ratio.total_cmp(&one.ratio));
    faster.sort_by(|one, other| one.ratio.total_cmp(&other.ratio));
    Comparison {
        dates: [old, new].map(|report| report.date.clone()),
        apart: apart(old, new),
        common,
        threshold,
        unchanged: pairs.len() - slower.len() - faster.len(),
        only: [old, new].map(|report| points(report) - pairs.len()),
        slower,
        faster,
    }
}

/// What differs besides the figures, a line each: versions, effort, the machine.
fn apart(old: &Report, new: &Report) -> Vec<String> {
    let facts = [old, new].map(|report| {
        let run = if report.complete {
            "complete"
        } else {
            "interrupted"
        };
        let own = [
            ("squall", &*report.squall_version),
            ("effort", report.effort.name()),
            ("run", run),
        ];
        let own = own.map(|(name, value)| (name, value.to_owned()));
        let versions = report.machine.versions.iter();
        let versions = versions.map(|it| (it.of.as_str(), it.version.clone()));
        BTreeMap::from_iter(
            own.into_iter()
                .chain(report.machine.facts())
                .chain(versions),
        )
    });
    let names: BTreeSet<&str> = facts.iter().flatten().map(|(name, _)| *name).collect();
    let line = |name: &str| {
        let [before, now] = facts
            .each_ref()
            .map(|it| it.get(name).map_or("none", String::as_str));
        (before != now).then(|| format!("{name}: {before} before, {now} now"))
    };
    names.into_iter().filter_map(line).collect()
}

fn pairs<'a>(old: &'a Report, new: &'a Report) -> Vec<Pair<'a>> {
    let mut pairs = Vec::new();
    for workload in &new.workloads {
        let Some(before) = old.workload(&workload.name) else {
            continue;
        };
        for series in &workload.series {
            let both = series.points.iter().filter_map(|new| {
                let old = before.point(&series.source, new.at)?;
                Some(Pair {
                    workload,
                    source: &series.source,
                    old,
                    new,
                })
            });
            pairs.extend(both);
        }
    }
    pairs
}

fn points(report: &Report) -> usize {
    let series = report
        .workloads
        .iter()
        .flat_map(|workload| &workload.series);
    series.map(|series| series.points.len()).sum()
}

/// What all sources have in common: the median of the sources' medians, so that no source counts
/// for more because it has more points.
fn common(pairs: &[Pair]) -> Option<f64> {
    let mut of_sources: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for pair in pairs {
        of_sources
            .entry(pair.source)
            .or_default()
            .push(pair.ratio());
    }
    let medians: Vec<f64> = of_sources
        .into_values()
        .map(|of_one| Spread::of(of_one).median)
        .collect();
    (medians.len() >= SOURCES).then(|| Spread::of(medians).median)
}

/// The least change that is called one: what a calm machine shows, or what these two runs do.
fn threshold(pairs: &[Pair], machine: f64) -> f64 {
    let distances = pairs.iter().map(|pair| (pair.ratio() / machine).ln().abs());
    let distances: Vec<f64> = distances.collect();
    if distances.is_empty() {
        return CALM;
    }
    (BEYOND * DEVIATION * Spread::of(distances).median)
        .exp_m1()
        .max(CALM)
}

impl Pair<'_> {
    fn ratio(&self) -> f64 {
        self.new.ns.median / self.old.ns.median
    }

    /// What changed, if the intervals are apart once `machine` is taken off, and by more than
    /// `threshold`.
    fn change(&self, machine: f64, threshold: f64) -> Option<Change> {
        let ratio = self.ratio() / machine;
        let is_large = ratio.max(ratio.recip()) > 1.0 + threshold;
        let [low, high] = interval_of_median(self.old.ns.samples.clone());
        let now = interval_of_median(self.new.ns.samples.clone());
        let [now_low, now_high] = now.map(|ns| ns / machine);
        let is_apart = now_low > high || now_high < low;
        (is_large && is_apart).then(|| Change {
            workload: self.workload.name.clone(),
            source: self.source.into(),
            at: self.workload.place(self.new.at),
            ns: [self.old.ns.median, self.new.ns.median],
            ratio,
        })
    }
}

/// A change of the machine that is not worth a word, in parts.
const SAME: f64 = 0.01;

impl Display for Comparison {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        let [before, now] = &self.dates;
        writeln!(f, "before: {before}; now: {now}")?;
        if !self.apart.is_empty() {
            writeln!(
                f,
                "\nThe runs differ in more than their figures, which may explain what follows:"
            )?;
            self.apart
                .iter()
                .try_for_each(|line| writeln!(f, "  {line}"))?;
        }
        writeln!(f, "\n{}", self.machine())?;
        section(f, "Slower than before", &self.slower)?;
        section(f, "Faster than before", &self.faster)?;
        writeln!(f, "\n{}", self.rest())
    }
}

impl Comparison {
    /// What all sources have in common.
    fn machine(&self) -> String {
        let Some(common) = self.common else {
            return "Too few sources to tell whether the machine changed or they did.".into();
        };
        let change = common.max(common.recip()) - 1.0;
        if change <= SAME {
            return "The machine is as fast as it was.".into();
        }
        let percent = percent(change);
        let how = if common > 1.0 { "slower" } else { "faster" };
        format!(
            "All sources are {percent} % {how}. That is the machine, and is removed from the \
             changes below."
        )
    }

    /// What did not change, and what a change is.
    fn rest(&self) -> String {
        let changed = self.slower.len() + self.faster.len();
        let all = changed + self.unchanged;
        let threshold = percent(self.threshold);
        let mut text = if self.threshold > NOISY {
            format!(
                "These runs are too noisy to tell: points scatter so much between them that only \
                 a change of more than {threshold} % would count, which {changed} of {all} points \
                 show. Measure both again while nothing else runs."
            )
        } else {
            format!(
                "{} of {all} points did not change. A change is more than {threshold} %, which is \
                 more than points scatter between these runs, and the 95 % intervals of the two \
                 medians do not overlap.",
                self.unchanged
            )
        };
        for (count, run) in self.only.iter().zip(["before", "now"]) {
            if *count > 0 {
                text += &format!(" Measured only {run}: {count}.");
            }
        }
        text
    }
}

/// A table of changes; nothing if there are none.
fn section(f: &mut Formatter, title: &str, changes: &[Change]) -> fmt::Result {
    if changes.is_empty() {
        return Ok(());
    }
    let mut table = columns(None);
    table.set_header(["source", "workload", "at", "before", "now", "change"]);
    table.add_rows(changes.iter().map(|change| {
        let [before, now] = change.ns.map(units::time);
        let percent = format!("{:+.1} %", (change.ratio - 1.0) * 100.0);
        let texts = [&change.source, &change.workload, &change.at].map(String::clone);
        Vec::from_iter(texts.into_iter().chain([before, now, percent]))
    }));
    write!(
        f,
        "\n{title}\n{}",
        lines(&mut table, 1, |column| column >= 2)
    )
}

/// A part as a percentage, to a tenth.
fn percent(part: f64) -> String {
    format!("{:.1}", part * 100.0)
}
