//! Tables with a row for each specification and a column for each workload. If a terminal is too
//! narrow for all columns, several tables repeat the rows.

use std::ops::Range;

use squall_tools::text::in_a_line;
use squall_tools::units;

use crate::model::{Bench, Figure, Measured, Workload};
use crate::report::words;
use squall_tools::columns::{columns, lines};

/// Blanks between columns.
const GAP: usize = 1;

/// A row: the columns that every table repeats, and a cell for each workload.
struct Row {
    head: [String; 3],
    cells: Vec<String>,
}

/// The tables as text. `second` makes the line below a specification's name.
pub fn tables(
    bench: &Bench,
    measured: &[Measured],
    second: &dyn Fn(&Measured) -> String,
    width: Option<usize>,
) -> String {
    let mut rows = vec![heading(&bench.workloads)];
    rows.extend(measured.iter().map(|measured| row(measured, second)));
    let cells = bench.workloads.len();
    let tables: Vec<_> = split(&rows, cells, width)
        .into_iter()
        .map(|range| table(&rows, range))
        .collect();
    tables.join("\n")
}

fn heading(workloads: &[Workload]) -> Row {
    let cell = |workload: &Workload| {
        [
            words::direction(workload.direction).to_owned(),
            units::length(workload.block as u64),
            format!("depth {}", workload.depth),
            if workload.is_random { "random" } else { "" }.to_owned(),
        ]
        .join("\n")
    };
    Row {
        head: ["specification", "key", "score"].map(Into::into),
        cells: workloads.iter().map(cell).collect(),
    }
}

fn row(measured: &Measured, second: &dyn Fn(&Measured) -> String) -> Row {
    let Measured { spec, score, .. } = measured;
    Row {
        head: [
            format!("{}\n{}", in_a_line(&spec.name()), second(measured)),
            spec.key_bits.to_string(),
            units::number(score * 100.0),
        ],
        cells: measured.figures.iter().map(cell).collect(),
    }
}

fn cell(figure: &Figure) -> String {
    format!(
        "{}\n{}",
        units::number(figure.rate.median / 1e6),
        words::ratio(&figure.ratio)
    )
}

/// Divides the cells among as few tables as possible, about equally.
fn split(rows: &[Row], cells: usize, width: Option<usize>) -> Vec<Range<usize>> {
    let head = rows.iter().map(|row| &row.head);
    let head: usize = (0..3)
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
