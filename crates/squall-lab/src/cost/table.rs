//! The report for people: tables, then targets, then what the rows mean.

use std::fmt::Write;

use super::figures::{Figure, Row};
use super::fork::Forks;
use super::generators::Generator::{
    self, Legacy, Robust489, Robust579, Robust705, WhirlwindDaviesMeyer, WhirlwindSha256,
    WhirlwindSha512,
};
use super::machine::MachineDescription;
use super::operations::Operations;
use super::report::Report;
use super::targets::{Bound, Target};
use super::throughput::Speed;

/// Lines of an operation: what Whirlwind and the robust PRNG are made with, and which those are.
const VARIANTS: [(&str, Generator, Generator); 3] = [
    ("SHA-512; n = 489", WhirlwindSha512, Robust489),
    ("SHA-256; n = 579", WhirlwindSha256, Robust579),
    ("Davies–Meyer; n = 705", WhirlwindDaviesMeyer, Robust705),
];

/// Stands where there is no figure.
const NONE: &str = "–";

const NOTES: &str = "
Notes
  add-input: an event, from reading the cycle counter on; the old RNG mixes 12 bytes of it.
  Without compression: calls that only put it in a buffer, as 7 of 8 do (SHA-256: 3 of 4).
  Bytes in: the same to add, refresh, and the mixing of the old RNG's input pool. A refresh costs
  the same up to n bits; the mixing goes byte by byte.
  Generate: the old RNG's 4 bytes are get_random_int, all others /dev/urandom; the robust PRNG's
  16 bytes are one next.
  The old RNG is a model in this process. The paper's figures are of kernels on its authors'
  machine; their outputs are system calls, so compare them with each other.
";

/// The report as text.
pub fn of(report: &Report) -> String {
    let mut text = machine(&report.machine, report.quick);
    operations(&mut text, &report.operations);
    speeds(&mut text, &report.throughput);
    forks(&mut text, &report.fork);
    targets(&mut text, &report.targets);
    text + NOTES
}

fn machine(machine: &MachineDescription, quick: bool) -> String {
    let MachineDescription {
        cpu,
        kernel,
        release_build,
    } = machine;
    let mut text = format!("{cpu}, Linux {kernel}\n");
    if !release_build {
        text += "This is not a release build: its figures say nothing.\n";
    }
    if quick {
        text += "Quick: figures are only about right.\n";
    }
    text
}

fn operations(text: &mut String, operations: &Operations) {
    let mut lines = vec![header(&["made with"])];
    for (name, row) in [
        (
            "add-input, without compression",
            &operations.add_input_without_compression,
        ),
        ("add-input, mean of all calls", &operations.add_input),
        ("16 bytes in", &operations.absorb_16_bytes),
        ("60 bytes in", &operations.absorb_60_bytes),
        ("generate 4 bytes", &operations.generate_4_bytes),
        ("generate 16 bytes", &operations.generate_16_bytes),
        ("generate 64 bytes", &operations.generate_64_bytes),
        ("bootstrap", &operations.bootstrap),
    ] {
        lines.extend(operation(name, row));
    }
    section(text, "Operations: median (quartiles)", &lines);
}

/// Lines for one operation, a variant each; the old RNG and the paper have one figure.
fn operation(name: &str, row: &Row) -> Vec<Vec<String>> {
    let cell = |generator| row.get(generator).map_or(NONE.into(), time);
    let paper = |value: Option<f64>| value.map_or(NONE.into(), published_time);
    let mut lines: Vec<_> = VARIANTS
        .iter()
        .map(|&(variant, whirlwind, robust)| {
            let blank = String::new();
            let [whirlwind, robust] = [whirlwind, robust].map(cell);
            vec![blank.clone(), variant.into(), whirlwind, robust, blank]
        })
        .collect();
    lines[0][0] = name.into();
    lines[0][4] = cell(Legacy);
    lines[0].extend([paper(row.paper.whirlwind), paper(row.paper.legacy)]);
    lines
}

fn speeds(text: &mut String, speeds: &[Speed]) {
    let (variant, whirlwind, robust) = VARIANTS[0];
    let mut lines = vec![header(&[])];
    for Speed { block_bytes, row } in speeds {
        let mut line = vec![format!("{block_bytes} bytes")];
        line.extend([whirlwind, robust, Legacy].map(|generator| {
            let figure = row.get(generator);
            figure.map_or(NONE.into(), speed)
        }));
        let paper = |value: Option<f64>| value.map_or(NONE.into(), |speed| speed.to_string());
        line.extend([row.paper.whirlwind, row.paper.legacy].map(paper));
        lines.push(line);
    }
    let title = format!("Throughput by length of a request ({variant}), MB/s: median (quartiles)");
    section(text, &title, &lines);
}

fn forks(text: &mut String, forks: &Forks) {
    let overhead = &forks.overhead_percent;
    let [low, high] = overhead.interval_95;
    let paper = |value: Option<f64>| {
        value.map_or(String::new(), |v| format!("paper {}", published_time(v)))
    };
    let lines = [
        (
            "never drew",
            time(&forks.without_squall),
            paper(forks.paper.legacy),
        ),
        (
            "drew",
            time(&forks.with_squall),
            paper(forks.paper.whirlwind),
        ),
        (
            "drew, child draws too",
            time(&forks.with_squall_child_draws),
            String::new(),
        ),
        (
            "overhead of having drawn",
            format!(
                "{:+.2} % ({:+.2} to {:+.2})",
                overhead.median, overhead.lower_quartile, overhead.upper_quartile
            ),
            format!("the median is in {low:+.2} to {high:+.2} with 95 % confidence"),
        ),
    ];
    let lines = lines.map(|(name, value, more)| vec![name.into(), value, more]);
    let title = format!(
        "Fork and exit: {} rounds, each a new process that forks {} times",
        forks.rounds, forks.forks_of_a_process
    );
    section(text, &title, &lines);
}

fn targets(text: &mut String, targets: &[Target]) {
    let lines: Vec<_> = targets
        .iter()
        .map(|target| {
            let bound = match target.bound {
                Bound::AtMost => "at most",
                Bound::Under => "under",
                Bound::Above => "above",
            };
            let (limit, unit) = (target.limit, target.unit);
            vec![
                if target.met { "met" } else { "missed" }.into(),
                target.text.into(),
                format!("{} {unit}", number(target.measured)),
                format!("{bound} {limit} {unit}"),
            ]
        })
        .collect();
    section(text, "Targets", &lines);
}

/// The names of the columns, with `more` behind the first, which needs none.
fn header(more: &[&str]) -> Vec<String> {
    let generators = ["Whirlwind", "robust PRNG", "old RNG"];
    let paper = ["paper's Whirlwind", "paper's old RNG"];
    let names = [&[""], more, &generators, &paper].concat();
    names.into_iter().map(str::to_owned).collect()
}

/// Writes `lines` with their columns aligned.
fn section(text: &mut String, title: &str, lines: &[Vec<String>]) {
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = lines.iter().filter_map(|line| line.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<_> = (0..columns).map(width).collect();
    let _ = writeln!(text, "\n{title}");
    for line in lines {
        let cells = line.iter().zip(&widths);
        let cells: String = cells
            .map(|(cell, &width)| format!("  {cell:width$}"))
            .collect();
        let _ = writeln!(text, "{}", cells.trim_end());
    }
}

fn time(figure: &Figure) -> String {
    let (unit, scale) = unit_of_time(figure.median);
    let [median, low, high] =
        [figure.median, figure.lower_quartile, figure.upper_quartile].map(|ns| number(ns / scale));
    format!("{median} {unit} ({low} to {high})")
}

/// A published time, with the digits it was published with.
fn published_time(ns: f64) -> String {
    let (unit, scale) = unit_of_time(ns);
    format!("{} {unit}", ns / scale)
}

fn unit_of_time(ns: f64) -> (&'static str, f64) {
    match ns {
        ..1e3 => ("ns", 1.0),
        ..1e6 => ("µs", 1e3),
        _ => ("ms", 1e6),
    }
}

fn speed(figure: &Figure) -> String {
    let Figure {
        median,
        lower_quartile,
        upper_quartile,
        ..
    } = *figure;
    let [median, low, high] = [median, lower_quartile, upper_quartile].map(number);
    format!("{median} ({low} to {high})")
}

/// A number to three digits.
fn number(value: f64) -> String {
    match value.abs() {
        100.0.. => format!("{value:.0}"),
        10.0.. => format!("{value:.1}"),
        1.0.. => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}
