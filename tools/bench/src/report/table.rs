//! The report on a terminal: one line a source, and a few lines for each other workload.

use std::fmt::Write;

use squall_tools::columns::{columns, lines};
use squall_tools::units;

use super::columns::{self as figures, Column, NONE, groups};
use super::model::{Point, Report, SourceReport, State, Workload, workload};

/// Marks the fastest source of a column among those that are fit for secrets.
const WINNER: &str = "*";

/// The report as text.
pub fn table(report: &Report) -> String {
    let mut text = machine(report) + &sources(report);
    for workload in &report.workloads {
        if ![workload::WORDS, workload::FILL].contains(&workload.name.as_str()) {
            text += &other(report, workload);
        }
    }
    text += "\n";
    for source in &report.sources {
        let what = match source.state {
            State::Measured => continue,
            State::Missing => "not available",
            State::Failed => "FAILED",
            State::Disqualified => "DISQUALIFIED",
        };
        let reason = source.reason.as_deref().unwrap_or("");
        let _ = writeln!(text, "{}: {what}: {reason}", source.name);
    }
    let _ = writeln!(
        text,
        "\nSpread of the quartiles {:.1} % (median), stolen time {:.1} %, {:.0} s.\n\n{}",
        report.noise.spread_percent, report.noise.steal_percent, report.seconds, report.advice
    );
    text
}

fn machine(report: &Report) -> String {
    let machine = &report.machine;
    let hypervisor = machine.hypervisor.as_deref().unwrap_or("no hypervisor");
    let governor = machine.governor.as_deref().unwrap_or("unknown");
    let versions = machine.versions.iter();
    let versions: Vec<String> = versions
        .map(|it| format!("{} {}", it.of, it.version))
        .collect();
    let mut text = format!(
        "{}\nLinux {}, {hypervisor}; governor {governor}; measured on {}; reading the clock takes {}\n\
         clones: {}\n{}\n",
        machine.cpu,
        machine.kernel,
        machine.measured_on(),
        units::time(machine.clock_ns),
        machine.clone_guard_and_when(),
        versions.join("; "),
    );
    if let Some(warning) = &report.noise.warning {
        let _ = writeln!(text, "NOISY: {warning}");
    }
    if !report.complete {
        text += "INCOMPLETE: the run was interrupted\n";
    }
    text
}

/// The first table, with ratios of a key and of a buffer.
fn sources(report: &Report) -> String {
    let columns = figures::main(report);
    let Some(first) = columns.first() else {
        return String::new();
    };
    let figures = columns.iter().map(|column| {
        let unit = if column.is_by_rate() { "GB/s" } else { "ns" };
        let number = |column: &Column, point: &Point| match point.rate() {
            Some(rate) if column.is_by_rate() => units::number(rate / 1e9),
            _ => units::number(point.ns.median),
        };
        figure(report, column, format!("{} {unit}", column.title), number)
    });
    let with_ratio = columns
        .iter()
        .filter(|column| [32, 16 << 10].contains(&column.at));
    let ratios = with_ratio.map(|column| ratio(column, format!("{} ×", column.title)));
    let rows = rows(
        report,
        &columns,
        &figures.chain(ratios).collect::<Vec<_>>(),
        true,
    );
    let kernel = first.workload.kernel.as_deref().unwrap_or("the kernel");
    format!(
        "\n{rows}\nS fit for secrets: neither a forked child repeats it nor a VM clone that the kernel \
         learns of.  {WINNER} the fastest of those.\n× how many times as fast as {kernel}.  squall \
         bench --explain SOURCE explains how a source is measured.\n"
    )
}

/// A workload with a line a source and a column a place.
fn other(report: &Report, workload: &Workload) -> String {
    let columns = figures::of(workload);
    let mut shown: Vec<Shown> = columns
        .iter()
        .map(|column| {
            let title = match columns.len() {
                1 => &workload.operation,
                _ => &column.title,
            };
            figure(report, column, title.clone(), |column, point| {
                column.figure(point)
            })
        })
        .collect();
    shown.extend(columns.last().map(|last| ratio(last, "×".into())));
    let mut points = workload.series.iter().flat_map(|series| &series.points);
    if points.any(|point| point.discarded.is_some()) {
        let of_source = |source: &SourceReport| {
            let points = &workload.series(&source.name)?.points;
            let discarded = points.iter().find_map(|point| point.discarded)?;
            Some(format!("{discarded} B"))
        };
        let cell = move |source: &SourceReport| of_source(source).unwrap_or(NONE.into());
        shown.push(("discarded".into(), Box::new(cell)));
    }
    let rows = rows(report, &columns, &shown, false);
    let failures = workload.failures.iter().map(|it| format!("FAILED: {it}\n"));
    format!(
        "\n{}\n{rows}{}",
        workload.title,
        failures.collect::<String>()
    )
}

/// The title of a column, and its cell for a source.
type Shown<'a> = (String, Box<dyn Fn(&SourceReport) -> String + 'a>);

/// A column of figures that `show` writes.
fn figure<'a>(
    report: &'a Report,
    column: &'a Column,
    title: String,
    show: fn(&Column, &Point) -> String,
) -> Shown<'a> {
    let cell = move |source: &SourceReport| {
        let Some(point) = column.point(&source.name) else {
            return NONE.into();
        };
        let is_best = column.is_best(report, &source.name);
        show(column, point) + if is_best { WINNER } else { " " }
    };
    (title, Box::new(cell))
}

fn ratio<'a>(column: &'a Column, title: String) -> Shown<'a> {
    let cell = |source: &SourceReport| {
        column
            .ratio(&source.name)
            .map_or(NONE.into(), units::number)
    };
    (title, Box::new(cell))
}

/// A line for each source that has a figure in any of `columns`; perhaps with gaps between families.
fn rows(report: &Report, columns: &[Column], shown: &[Shown], has_gaps: bool) -> String {
    let titles = shown.iter().map(|(title, _)| title.as_str());
    let mut rows = Vec::new();
    for (_, sources) in groups(report, columns) {
        if has_gaps && !rows.is_empty() {
            rows.push(Vec::new());
        }
        rows.extend(sources.into_iter().map(|source| {
            let fitness = if source.secure { "S" } else { "" };
            let cells = shown.iter().map(|(_, cell)| cell(source));
            [fitness.into(), source.name.clone()]
                .into_iter()
                .chain(cells)
                .collect()
        }));
    }
    aligned(["", "source"].into_iter().chain(titles), rows)
}

/// Rows in columns; the first two are text, the others numbers.
pub(super) fn aligned<'a>(
    titles: impl IntoIterator<Item = &'a str>,
    rows: impl IntoIterator<Item = Vec<String>>,
) -> String {
    let mut table = columns(None);
    table.set_header(titles).add_rows(rows);
    lines(&mut table, 1, |column| column >= 2)
}
