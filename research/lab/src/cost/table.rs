//! Writes the report as text: tables, then targets, then notes on the rows.

use std::fmt::Write;

use super::figures::{Figure, Row};
use super::fork::{Forks, Overhead};
use super::generators::Generator::{
    self, Legacy, Robust489, Robust579, Robust705, WhirlwindDaviesMeyer, WhirlwindSha256,
    WhirlwindSha512,
};
use super::operations::{Operations, Speed};
use super::targets::{Bound, Verdict};
use super::{CostReport, MachineDescription};

/// The lines of an operation: Whirlwind's hash and the robust PRNG's field, and the generators.
const VARIANTS: [(&str, Generator, Generator); 3] = [
    ("SHA-512; n = 489", WhirlwindSha512, Robust489),
    ("SHA-256; n = 579", WhirlwindSha256, Robust579),
    ("Davies–Meyer; n = 705", WhirlwindDaviesMeyer, Robust705),
];

/// Shown where there is no figure.
const NONE: &str = "–";

const NOTES: &str = "
Notes
  Operations and throughput: each sample is the mean of a batch of one millisecond, and medians are
  those of batches. For bootstraps and forks, each one is a sample.
  add-input: an event, including the reading of the cycle counter; the old RNG mixes 12 bytes of it.
  Most calls only store it in a buffer; Whirlwind compresses at 1 of 8 (SHA-256: 1 of 4).
  interrupt: the same, except that the old RNG mixes interrupts into its fast pool.
  Bytes in: the same bytes for add, refresh, and the mixing into the old RNG's input pool. 61, 72
  and 88 bytes are the whole bytes of a field's n bits. A refresh costs the same for any input up to
  n bits; the mixing goes byte by byte.
  Generate: the old RNG's 4 bytes come from get_random_int with MD5, all others from /dev/urandom;
  16 bytes are one `next` of the robust PRNG. Whirlwind hashes 4 words of the CPU's random
  instruction into each output, the old RNG XORs 2 words into each 10 bytes, as its kernels did, and
  the robust PRNG uses none.
  The old RNG is a model in this process. Each of its operations takes a lock, about 4 ns without
  contention; a refresh takes none. Its SHA-1 is that of the sha1 crate, which uses the CPU's SHA
  instructions if it has them; this makes it look faster than in the paper.
  The paper's figures are those of kernels on its authors' machine. Their outputs are system calls,
  so compare them only with each other.
";

/// The report as text.
pub fn text(report: &CostReport) -> String {
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
        random_instruction,
        sha_instructions,
    } = machine;
    let mut text = format!("{cpu}, Linux {kernel}\n");
    let has = |has: bool| if has { "yes" } else { "no" };
    let [random, sha] = [*random_instruction, *sha_instructions].map(has);
    text += &format!("random instruction: {random}; SHA instructions: {sha}\n");
    if !release_build {
        text += "This is not a release build: its figures mean nothing.\n";
    }
    if quick {
        text += "Quick: figures are approximate.\n";
    }
    text
}

fn operations(text: &mut String, operations: &Operations) {
    let mut lines = vec![header(&["made with"])];
    for (name, row) in [
        ("add-input", &operations.add_input),
        ("interrupt", &operations.interrupt),
        ("16 bytes in", &operations.absorb_16_bytes),
        ("61 bytes in", &operations.absorb_61_bytes),
        ("72 bytes in", &operations.absorb_72_bytes),
        ("88 bytes in", &operations.absorb_88_bytes),
        ("generate 4 bytes", &operations.generate_4_bytes),
        ("generate 16 bytes", &operations.generate_16_bytes),
        ("generate 64 bytes", &operations.generate_64_bytes),
        ("bootstrap", &operations.bootstrap),
    ] {
        lines.extend(operation(name, row));
    }
    section(text, "Operations: median of batches (quartiles)", &lines);
}

/// The lines of one operation, one for each variant that has it. The old RNG and the paper have only
/// one figure.
fn operation(name: &str, row: &Row) -> Vec<Vec<String>> {
    let cell = |generator| row.get(generator).map_or(NONE.into(), time);
    let has = |generator| row.get(generator).is_some();
    let variants = VARIANTS.iter();
    let mut lines: Vec<_> = variants
        .filter(|&&(_, whirlwind, robust)| has(whirlwind) || has(robust))
        .map(|&(variant, whirlwind, robust)| {
            let blank = String::new();
            let [whirlwind, robust] = [whirlwind, robust].map(cell);
            vec![blank.clone(), variant.into(), whirlwind, robust, blank]
        })
        .collect();
    lines[0][0] = name.into();
    lines[0][4] = cell(Legacy);
    lines[0].extend([row.paper.whirlwind, row.paper.legacy].map(published));
    lines
}

fn published(figure: Option<&str>) -> String {
    figure.unwrap_or(NONE).into()
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
        line.extend([row.paper.whirlwind, row.paper.legacy].map(published));
        lines.push(line);
    }
    let title = format!(
        "Throughput by length of a request ({variant}), MB/s: median of batches (quartiles)"
    );
    section(text, &title, &lines);
}

fn forks(text: &mut String, forks: &Forks) {
    let paper = |figure| format!("paper {}", published(figure));
    let of_paper = [forks.paper.legacy, forks.paper.whirlwind].map(paper);
    let [old, whirlwind] = of_paper;
    let lines = [
        ("never drew", time(&forks.without_squall), old),
        (
            "never drew, again",
            time(&forks.without_squall_again),
            String::new(),
        ),
        ("drew", time(&forks.with_squall), whirlwind),
        (
            "drew, child draws too",
            time(&forks.with_squall_child_draws),
            String::new(),
        ),
        overhead("overhead of having drawn", &forks.overhead_percent),
        overhead("overhead of nothing", &forks.null_overhead_percent),
    ];
    let lines = lines.map(|(name, value, more)| vec![name.into(), value, more]);
    let title = format!(
        "Fork and exit: {} rounds, each a new process that forks {} times",
        forks.rounds, forks.forks_of_a_process
    );
    section(text, &title, &lines);
}

fn overhead<'a>(name: &'a str, overhead: &Overhead) -> (&'a str, String, String) {
    let Overhead {
        lower_quartile,
        median,
        upper_quartile,
        interval_95: [low, high],
    } = overhead;
    let value = format!("{median:+.2} % ({lower_quartile:+.2} to {upper_quartile:+.2})");
    let more = format!("the median is in {low:+.2} to {high:+.2} with 95 % confidence");
    (name, value, more)
}

fn targets(text: &mut String, targets: &[Verdict]) {
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

/// The column names, with `more` after the first one, which is empty.
fn header(more: &[&str]) -> Vec<String> {
    let generators = ["Whirlwind", "robust PRNG", "old RNG"];
    let paper = ["paper's Whirlwind", "paper's old RNG"];
    let names = [&[""], more, &generators, &paper].concat();
    names.into_iter().map(str::to_owned).collect()
}

/// Writes `lines` with aligned columns.
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

/// Formats a number with three digits.
fn number(value: f64) -> String {
    match value.abs() {
        100.0.. => format!("{value:.0}"),
        10.0.. => format!("{value:.1}"),
        1.0.. => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}
