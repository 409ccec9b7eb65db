//! The results of a run for people and for spreadsheets.

pub mod document;
pub mod list;
#[cfg(test)]
mod tests;

use jiff::Timestamp;
use serde::Serialize;
use squall_tools::report::{Cell, Column, Kind, Part, Table};

use crate::integrity::Integrity;
use crate::model::{Bench, Direction, Figure, Machine, Measured, Options, Workload};
use crate::rules::{Reason, Verdict};

/// The part of the report that a line belongs to.
#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Section {
    Raw,
    Ranking,
    Variant,
    Authenticated,
}

/// A line of CSV: a workload of a specification with its options. Its fields are the columns; missing values are
/// empty.
#[derive(Serialize)]
pub struct Line<'a> {
    part: Section,
    specification: Option<String>,
    key_bits: Option<u32>,
    integrity: Option<Integrity>,
    sector_size: Option<u32>,
    no_workqueues: Option<bool>,
    same_cpu: Option<bool>,
    journal: Option<bool>,
    verdict: Option<Verdict>,
    score: Option<f64>,
    workload: &'a str,
    direction: Direction,
    block: usize,
    depth: usize,
    is_random: bool,
    bytes_per_second: f64,
    bytes_per_second_low: f64,
    bytes_per_second_high: f64,
    ratio: f64,
    ratio_low: f64,
    ratio_high: f64,
    cpu_seconds_per_gb: Option<f64>,
    latency_p50_ns: f64,
    latency_p99_ns: f64,
    samples: usize,
    device: &'a str,
    is_emulated: bool,
    is_complete: bool,
}

/// The lines of CSV.
pub fn lines(bench: &Bench) -> Vec<Line<'_>> {
    let mut lines = Vec::new();
    let mut add = |part, measured, figures: &[Figure]| {
        let all = bench.workloads.iter().zip(figures);
        lines.extend(all.map(|(workload, figure)| line(bench, part, measured, workload, figure)));
    };
    add(Section::Raw, None, &bench.raw);
    for (part, all) in [
        (Section::Ranking, &bench.ranking),
        (Section::Variant, &bench.variants),
        (Section::Authenticated, &bench.authenticated),
    ] {
        for measured in all {
            add(part, Some(measured), &measured.figures);
        }
    }
    lines
}

fn line<'a>(
    bench: &'a Bench,
    part: Section,
    measured: Option<&Measured>,
    workload: &'a Workload,
    figure: &Figure,
) -> Line<'a> {
    let options = measured.map(|measured| measured.options);
    Line {
        part,
        specification: measured.map(|measured| measured.spec.name()),
        key_bits: measured.map(|measured| measured.spec.key_bits),
        integrity: measured.and_then(|measured| measured.spec.integrity),
        sector_size: options.map(|options| options.sector_size),
        no_workqueues: options.map(|options| options.no_workqueues),
        same_cpu: options.map(|options| options.same_cpu),
        journal: options.and_then(|options| options.journal),
        verdict: measured.map(|measured| measured.verdict),
        score: measured.map(|measured| measured.score),
        workload: workload.name,
        direction: workload.direction,
        block: workload.block,
        depth: workload.depth,
        is_random: workload.is_random,
        bytes_per_second: figure.rate.median,
        bytes_per_second_low: figure.rate.low,
        bytes_per_second_high: figure.rate.high,
        ratio: figure.ratio.median,
        ratio_low: figure.ratio.low,
        ratio_high: figure.ratio.high,
        cpu_seconds_per_gb: figure.cpu_seconds_per_gb,
        latency_p50_ns: figure.latency.p50_ns,
        latency_p99_ns: figure.latency.p99_ns,
        samples: figure.samples.len(),
        device: &bench.backing.name,
        is_emulated: bench.machine.is_emulated,
        is_complete: bench.is_complete,
    }
}

/// A part of the whole in percent, without the sign: `82`, `8.2`.
pub fn percent(part: f64) -> String {
    /// The percentage from which on tenths are not shown.
    const WHOLE: f64 = 9.95;
    let percent = part * 100.0;
    if percent.abs() < WHOLE {
        format!("{percent:.1}")
    } else {
        format!("{percent:.0}")
    }
}

/// When a report was made, for programs and for people.
fn date(at: &Timestamp) -> [String; 2] {
    [
        at.to_string(),
        at.strftime("%Y-%m-%d %H:%M UTC").to_string(),
    ]
}

/// What is to be doubted in a whole report, and why.
fn warnings(
    machine: &Machine,
    emulated: &str,
    is_complete: bool,
    incomplete: &str,
) -> Vec<(&'static str, String)> {
    let emulated = (machine.is_emulated, "Emulated", emulated);
    let all = [emulated, (!is_complete, "Incomplete", incomplete)];
    let all = all.into_iter().filter(|(applies, ..)| *applies);
    all.map(|(_, what, why)| (what, why.to_owned())).collect()
}

/// A table of rules.
pub fn rules_table(
    groups: impl IntoIterator<Item = (Option<&'static str>, Vec<Vec<Cell>>)>,
) -> Part {
    let groups = groups.into_iter().filter(|(_, rows)| !rows.is_empty());
    Part::Table(Table {
        columns: vec![
            Column::new("Rule", Kind::Name),
            Column::new("Count", Kind::Number),
            Column::new("Why", Kind::Prose),
        ],
        groups: groups.collect(),
        heads: 0,
        has_details: true,
    })
}

/// A rule, how many specifications it speaks against, and what these are.
pub fn rule(reason: &Reason, count: usize, what: impl IntoIterator<Item = String>) -> Vec<Cell> {
    let why = format!("{} ({})", reason.reason, reason.source);
    vec![
        Cell::new(reason.rule),
        Cell::new(count.to_string()),
        Cell::new(why).with(what),
    ]
}

impl Options {
    /// The options in words: `sectors of 4096 bytes, no work queues`.
    pub fn described(&self) -> String {
        let on = match self {
            _ if self.same_cpu => "work queues on the same CPU",
            _ => self.queues(),
        };
        format!("sectors of {} bytes, {on}", self.sector_size)
    }

    /// What is special about its work queues, in a word or two.
    fn queues(&self) -> &'static str {
        match self {
            _ if self.no_workqueues => "no work queues",
            _ if self.same_cpu => "same CPU",
            _ => "work queues",
        }
    }
}

impl Verdict {
    /// The verdict in words.
    pub fn described(self) -> &'static str {
        match self {
            Verdict::Secure => "secure",
            Verdict::Compatible => "for compatibility only",
            Verdict::Insecure => "insecure",
        }
    }
}
