//! Tables with a row for each specification and a column for each workload. If a terminal is too
//! narrow for all columns, several tables repeat the rows.

use std::ops::Range;

use squall_tools::text::in_a_line;
use squall_tools::units;

use crate::model::{Bench, Figure, Measured, Workload};
use crate::report::phrases;
use squall_tools::columns::{columns, lines};

/// Blanks between columns.
const GAP: usize = 1;

/// A row: the columns that every table repeats, and a cell for each workload.
struct Row {
    head: Vec<String>,
    cells: Vec<String>,
}

/// The rates and ratios as text. `second` makes the line below a specification's name.
pub fn rates(
    bench: &Bench,
    measured: &[Measured],
    second: &dyn Fn(&Measured) -> String,
    width: Option<usize>,
) -> String {
    let cell = |figure: &Figure| {
        let rate = units::number(figure.rate.median / 1e6);
        format!("{rate}\n{}", phrases::ratio(&figure.ratio))
    };
    let row = |measured: &Measured| {
        let mut head = head(measured, second);
        head.push(units::number(measured.score * 100.0));
        row(head, &measured.figures, &cell)
    };
    let mut rows = vec![heading(
        &["specification", "key", "score"],
        &bench.workloads,
    )];
    rows.extend(measured.iter().map(row));
    tables(&rows, bench.workloads.len(), width)
}

/// CPU time and latencies as text, after those of the device without encryption.
pub fn costs(
    bench: &Bench,
    measured: &[Measured],
    second: &dyn Fn(&Measured) -> String,
    width: Option<usize>,
) -> String {
    let cell = |figure: &Figure| {
        format!(
            "{}\n{}",
            phrases::cpu(figure),
            phrases::latency(&figure.latency)
        )
    };
    let raw = ["no encryption".to_owned(), String::new()];
    let mut rows = vec![
        heading(&["specification", "key"], &bench.workloads),
        row(raw.into(), &bench.raw, &cell),
    ];
    let row = |measured: &Measured| row(head(measured, second), &measured.figures, &cell);
    rows.extend(measured.iter().map(row));
    tables(&rows, bench.workloads.len(), width)
}

/// The tables of `rows`, the first of which is the heading, with so many `cells` in each.
fn tables(rows: &[Row], cells: usize, width: Option<usize>) -> String {
    let tables: Vec<_> = split(rows, cells, width)
        .into_iter()
        .map(|range| table(rows, range))
        .collect();
    tables.join("\n")
}

fn heading(head: &[&str], workloads: &[Workload]) -> Row {
    let cell = |workload: &Workload| {
        [
            phrases::direction(workload.direction).to_owned(),
            units::length(workload.block as u64),
            format!("depth {}", workload.depth),
            if workload.is_random { "random" } else { "" }.to_owned(),
        ]
        .join("\n")
    };
    Row {
        head: head.iter().map(|title| (*title).to_owned()).collect(),
        cells: workloads.iter().map(cell).collect(),
    }
}

/// The name of a specification with its second line, and the length of its key.
fn head(measured: &Measured, second: &dyn Fn(&Measured) -> String) -> Vec<String> {
    let spec = &measured.spec;
    let name = match spec.integrity {
        Some(integrity) => format!("{} {integrity}", spec.name()),
        None => spec.name(),
    };
    vec![
        format!("{}\n{}", in_a_line(&name), second(measured)),
        spec.key_bits.to_string(),
    ]
}

fn row(head: Vec<String>, figures: &[Figure], cell: &dyn Fn(&Figure) -> String) -> Row {
    Row {
        head,
        cells: figures.iter().map(cell).collect(),
    }
}

/// Divides the cells among as few tables as possible, about equally.
fn split(rows: &[Row], cells: usize, width: Option<usize>) -> Vec<Range<usize>> {
    let head = rows.iter().map(|row| &row.head);
    let columns = rows.first().map_or(0, |row| row.head.len());
    let head: usize = (0..columns)
        .map(|index| widest(head.clone().map(|head| head[index].as_str())) + GAP)
        .sum();
    let every = rows.iter().flat_map(|row| &row.cells);
    let cell = widest(every.map(String::as_str)) + GAP;
    let fit = match width {
        Some(width) => (width.saturating_sub(head) / cell).max(1),
        None => cells.max(1),
    };
    let tables = cells.div_ceil(fit).max(1);
    let most = cells.div_ceil(tables).max(1);
    let starts = (0..cells).step_by(most);
    starts.map(|start| start..cells.min(start + most)).collect()
}

/// The length of the longest line in `texts`.
fn widest<'a>(texts: impl Iterator<Item = &'a str>) -> usize {
    let lines = texts.flat_map(str::lines);
    lines.map(|line| line.chars().count()).max().unwrap_or(0)
}

/// One table with the cells in `range`.
fn table(rows: &[Row], range: Range<usize>) -> String {
    let mut table = columns(None);
    for (index, row) in rows.iter().enumerate() {
        let cells = row.cells.get(range.clone()).unwrap_or_default();
        let cells = row.head.iter().chain(cells);
        match index {
            0 => table.set_header(cells),
            _ => table.add_row(cells),
        };
    }
    lines(&mut table, 1, |column| column > 0)
}
