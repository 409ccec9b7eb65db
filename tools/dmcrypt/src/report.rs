//! The results of a run for people and for spreadsheets.

pub mod document;
pub mod list;
#[cfg(test)]
mod tests;

use jiff::Timestamp;
use serde_json::json;
use squall_tool_base::report::{Cell, Column, Kind, Part, Table};
use squall_tool_base::reports::Line;

use crate::model::{Bench, CpuAndKernel, Figure, Measured, Options, Workload};
use crate::rules::{Reason, Verdict};
use crate::spec::Spec;

/// The lines of CSV: one for each workload of a specification with its options. Missing values are empty.
pub fn lines(bench: &Bench) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut add = |part, measured, figures: &[Figure]| {
        let all = bench.workloads.iter().zip(figures);
        lines.extend(all.map(|(workload, figure)| line(bench, part, measured, workload, figure)));
    };
    add("raw", None, &bench.raw);
    for (part, all) in [
        ("ranking", &bench.ranking),
        ("variant", &bench.variants),
        ("authenticated", &bench.authenticated),
    ] {
        for measured in all {
            add(part, Some(measured), &measured.figures);
        }
    }
    lines
}

fn line(
    bench: &Bench,
    part: &str,
    measured: Option<&Measured>,
    workload: &Workload,
    figure: &Figure,
) -> Line {
    let spec = measured.map(|measured| &measured.spec);
    let options = measured.map(|measured| measured.options);
    let Figure { rate, ratio, .. } = figure;
    vec![
        ("part", json!(part)),
        ("specification", json!(spec.map(Spec::name))),
        ("key_bits", json!(spec.map(|it| it.key_bits))),
        ("integrity", json!(spec.map(|it| it.integrity))),
        ("sector_size", json!(options.map(|it| it.sector_size))),
        ("no_workqueues", json!(options.map(|it| it.no_workqueues))),
        ("same_cpu", json!(options.map(|it| it.same_cpu))),
        ("journal", json!(options.map(|it| it.journal))),
        ("verdict", json!(measured.map(|it| it.verdict))),
        ("score", json!(measured.map(|it| it.score))),
        ("workload", json!(workload.name)),
        ("direction", json!(workload.direction)),
        ("block", json!(workload.block)),
        ("depth", json!(workload.depth)),
        ("is_random", json!(workload.is_random)),
        ("bytes_per_second", json!(rate.median)),
        ("bytes_per_second_low", json!(rate.low)),
        ("bytes_per_second_high", json!(rate.high)),
        ("ratio", json!(ratio.median)),
        ("ratio_low", json!(ratio.low)),
        ("ratio_high", json!(ratio.high)),
        ("cpu_seconds_per_gb", json!(figure.cpu_seconds_per_gb)),
        ("latency_p50_ns", json!(figure.latency.p50_ns)),
        ("latency_p99_ns", json!(figure.latency.p99_ns)),
        ("samples", json!(figure.samples.len())),
        ("device", json!(bench.backing.name)),
        ("is_emulated", json!(bench.machine.is_emulated)),
        ("is_complete", json!(bench.is_complete)),
    ]
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
    machine: &CpuAndKernel,
    emulated: &str,
    is_complete: bool,
    incomplete: &str,
) -> Vec<(&'static str, String)> {
    let emulated = (machine.is_emulated, "Emulated", emulated);
    let all = [emulated, (!is_complete, "Incomplete", incomplete)];
    let all = all.into_iter().filter(|(applies, ..)| *applies);
    all.map(|(_, what, why)| (what, why.to_owned())).collect()
}

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
    pub fn described(self) -> &'static str {
        match self {
            Verdict::Secure => "secure",
            Verdict::Compatible => "for compatibility only",
            Verdict::Insecure => "insecure",
        }
    }
}
