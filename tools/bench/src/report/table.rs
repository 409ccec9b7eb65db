//! The report on a terminal: one line a source, and a few lines for each other workload.

use std::fmt::Write;

use comfy_table::presets::NOTHING;
use comfy_table::{Cell, CellAlignment, Table};

use super::model::{Group, Point, Report, SourceReport, State, Workload, workload};
use squall_tools::units;

const NONE: &str = "–";

/// Marks the fastest source of a column among those that are fit for secrets.
const WINNER: &str = "*";

/// The report as text.
pub fn table(report: &Report) -> String {
    let mut text = String::new();
    machine(&mut text, report);
    sources(&mut text, report);
    for workload in &report.workloads {
        if !MAIN.contains(&workload.name.as_str()) {
            others(&mut text, report, workload);
        }
    }
    missing(&mut text, report);
    ending(&mut text, report);
    text
}

/// The workloads that make up the columns of the main table.
const MAIN: [&str; 2] = [workload::WORDS, workload::FILL];

/// A column of the main table: a workload, a place of it, the heading, and whether it is a rate.
const COLUMNS: [(&str, u64, &str, bool); 8] = [
    (workload::WORDS, 4, "u32 ns", false),
    (workload::WORDS, 8, "u64 ns", false),
    (workload::FILL, 16, "16 B ns", false),
    (workload::FILL, 32, "32 B ns", false),
    (workload::FILL, 1 << 10, "1 KiB GB/s", true),
    (workload::FILL, 16 << 10, "16 KiB GB/s", true),
    (workload::FILL, 1 << 20, "1 MiB GB/s", true),
    (workload::FILL, 16 << 20, "16 MiB GB/s", true),
];

/// Places of which the ratio to the kernel is shown: a key, and a buffer.
const RATIOS: [(&str, u64, &str); 2] = [
    (workload::FILL, 32, "32 B"),
    (workload::FILL, 16 << 10, "16 KiB"),
];

fn machine(text: &mut String, report: &Report) {
    let machine = &report.machine;
    let hypervisor = machine.hypervisor.as_deref().unwrap_or("no hypervisor");
    let governor = machine.governor.as_deref().unwrap_or("unknown");
    let pinned = if machine.pinned {
        "one CPU"
    } else {
        "no CPU in particular"
    };
    let versions: Vec<String> = machine
        .versions
        .iter()
        .map(|version| format!("{} {}", version.of, version.version))
        .collect();
    let _ = writeln!(
        text,
        "{}\nLinux {}, {hypervisor}; governor {governor}; measured on {pinned}; reading the clock \
         takes {}\nclones: {}\n{}",
        machine.cpu,
        machine.kernel,
        units::time(machine.clock_ns),
        machine.clone_guard_and_when(),
        versions.join("; "),
    );
    if let Some(warning) = &report.noise.warning {
        let _ = writeln!(text, "NOISY: {warning}");
    }
    if !report.complete {
        let _ = writeln!(text, "INCOMPLETE: the run was interrupted");
    }
}

fn sources(text: &mut String, report: &Report) {
    let columns: Vec<_> = COLUMNS
        .into_iter()
        .filter_map(|column| Some((report.workload(column.0)?, column)))
        .filter(|(workload, column)| workload.places().contains(&column.1))
        .collect();
    if columns.is_empty() {
        return;
    }
    let ratios: Vec<_> = RATIOS
        .into_iter()
        .filter_map(|ratio| Some((report.workload(ratio.0)?, ratio)))
        .filter(|(workload, ratio)| workload.places().contains(&ratio.1))
        .collect();
    let mut header = vec!["".to_owned(), "source".to_owned()];
    header.extend(columns.iter().map(|(_, column)| column.2.to_owned()));
    header.extend(ratios.iter().map(|(_, ratio)| format!("{} ×", ratio.2)));
    let measured = |group: Group| {
        let of_group = report
            .sources
            .iter()
            .filter(move |source| source.group == group);
        of_group.filter(|source| {
            columns
                .iter()
                .any(|(workload, _)| workload.series(&source.name).is_some())
        })
    };
    let mut rows = Vec::new();
    for group in Group::ALL {
        for source in measured(group) {
            let mut row = vec![fitness(source).to_owned(), source.name.clone()];
            row.extend(columns.iter().map(|(workload, (_, at, _, is_rate))| {
                cell(report, workload, source, *at, *is_rate)
            }));
            row.extend(ratios.iter().map(|(workload, (_, at, _))| {
                ratio_to_kernel(workload, &source.name, *at).unwrap_or(NONE.into())
            }));
            rows.push(row);
        }
        rows.push(Vec::new());
    }
    let kernel = columns[0].0.kernel.as_deref().unwrap_or("the kernel");
    let _ = writeln!(text);
    text.push_str(&aligned(header, rows, 2));
    let _ = writeln!(
        text,
        "\nS fit for secrets: neither a forked child repeats it nor a VM clone that the kernel learns of.  {WINNER} the \
         fastest of those.\n× how many times as fast as {kernel}.  squall bench --explain SOURCE explains how a \
         source is measured."
    );
}

fn fitness(source: &SourceReport) -> &'static str {
    if source.secure { "S" } else { "" }
}

fn cell(
    report: &Report,
    workload: &Workload,
    source: &SourceReport,
    at: u64,
    is_rate: bool,
) -> String {
    let Some(point) = workload.point(&source.name, at) else {
        return NONE.into();
    };
    let number = match (is_rate, point.rate()) {
        (true, Some(rate)) => units::number(rate / 1e9),
        _ => units::number(point.ns.median),
    };
    let is_winner = report.winner(workload, at) == Some(&source.name);
    format!("{number}{}", if is_winner { WINNER } else { " " })
}

/// How many times as fast as the kernel's source; none if either was not measured there.
fn ratio_to_kernel(workload: &Workload, source: &str, at: u64) -> Option<String> {
    let ratio = workload.speedup_over_kernel(workload.point(source, at)?)?;
    Some(units::number(ratio))
}

/// A workload with a line a source and a column a place.
fn others(text: &mut String, report: &Report, workload: &Workload) {
    let places = workload.places();
    let is_one = places.len() == 1;
    let has_discarded = workload
        .series
        .iter()
        .flat_map(|series| &series.points)
        .any(|point| point.discarded.is_some());
    let mut header = vec!["".to_owned(), "source".to_owned()];
    header.extend(places.iter().map(|&at| {
        if is_one {
            workload.operation.clone()
        } else {
            format!("{at} {}", workload.axis)
        }
    }));
    header.push("×".into());
    if has_discarded {
        header.push("discarded".into());
    }
    let rows = workload.series.iter().map(|series| {
        let secure = report.source(&series.source).map_or("", fitness);
        let mut row = vec![secure.to_owned(), series.source.clone()];
        row.extend(places.iter().map(|&at| {
            let point = series.points.iter().find(|point| point.at == at);
            let is_winner = report.winner(workload, at) == Some(&series.source);
            let figure = point.map_or(NONE.into(), |point| figure(workload, point));
            format!("{figure}{}", if is_winner { WINNER } else { " " })
        }));
        let last = places.last().copied().unwrap_or(0);
        row.push(ratio_to_kernel(workload, &series.source, last).unwrap_or(NONE.into()));
        if has_discarded {
            let discarded = series.points.iter().find_map(|point| point.discarded);
            row.push(discarded.map_or(NONE.into(), |bytes| format!("{bytes} B")));
        }
        row
    });
    let _ = writeln!(text, "\n{}", workload.title);
    text.push_str(&aligned(header, rows, 2));
    for failure in &workload.failures {
        let _ = writeln!(text, "FAILED: {failure}");
    }
}

/// Long operations as rates, where they make bytes; others as times.
fn figure(workload: &Workload, point: &Point) -> String {
    let is_rate = matches!(
        workload.name.as_str(),
        workload::THREADS_LARGE | workload::RATE | workload::PIPE
    );
    match point.rate() {
        Some(rate) if is_rate => units::rate(rate),
        _ => units::time(point.ns.median),
    }
}

fn missing(text: &mut String, report: &Report) {
    let _ = writeln!(text);
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
}

fn ending(text: &mut String, report: &Report) {
    let _ = writeln!(
        text,
        "\nSpread of the quartiles {:.1} % (median), stolen time {:.1} %, {:.0} s.\n\n{}",
        report.noise.spread_percent, report.noise.steal_percent, report.seconds, report.advice
    );
}

/// Rows in columns; the first `left` are text, the others numbers.
pub(super) fn aligned<H: ToString>(
    header: impl IntoIterator<Item = H>,
    rows: impl IntoIterator<Item = Vec<String>>,
    left: usize,
) -> String {
    let mut table = Table::new();
    table.load_preset(NOTHING);
    table.set_header(header.into_iter().map(|cell| Cell::new(cell.to_string())));
    for row in rows {
        table.add_row(row);
    }
    for (index, column) in table.column_iter_mut().enumerate() {
        if index >= left {
            column.set_cell_alignment(CellAlignment::Right);
        }
        column.set_padding((0, 1));
    }
    let lines = table.lines().map(|line| format!("{}\n", line.trim_end()));
    lines.collect()
}
