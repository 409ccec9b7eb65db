//! Bars on a terminal: a line for each drive and one of totals, no wider than the terminal, with
//! events above them.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use jiff::Timestamp;
use rustix::termios::tcgetwinsize;
use squall_tools::{Failure, units};

use crate::event::EventKind;
use crate::record::Job;

use super::meter::Left;
use super::row::Row;
use super::run::{Run, Totals};
use super::words::Words;
use super::{STOPPING, View, table, tell, text};

/// Columns and lines of a terminal that does not tell its size.
const USUAL: (usize, usize) = (80, 24);

/// The fewest and the most columns of a bar.
const BAR: (usize, usize) = (8, 30);

/// The most columns of a name.
const NAME: usize = 24;

/// Columns between two cells.
const GAP: usize = 2;

/// The columns in order. In a narrow terminal, those with the highest numbers are left out first.
const COLUMNS: [(Column, u32); 10] = [
    (Column::Name, 0),
    (Column::Serial, 6),
    (Column::Phase, 1),
    (Column::Bar, 5),
    (Column::Percent, 0),
    (Column::Now, 2),
    (Column::Average, 8),
    (Column::Left, 3),
    (Column::Errors, 4),
    (Column::Celsius, 7),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Name,
    Serial,
    Phase,
    Bar,
    Percent,
    Now,
    Average,
    Left,
    Errors,
    Celsius,
}

/// The view that shows bars.
pub struct Screen {
    bars: ProgressBar,
    words: Words,
}

impl Screen {
    /// Bars on standard error.
    pub fn new() -> Screen {
        let style = ProgressStyle::with_template("{msg}").expect("the template is valid");
        Screen {
            bars: ProgressBar::new_spinner().with_style(style),
            words: Words::default(),
        }
    }
}

impl View for Screen {
    fn event(&mut self, _now: Timestamp, row: &Row, what: &EventKind) -> Result<(), Failure> {
        if let Some(line) = self.words.of(row, what) {
            let serial = row.serial.as_deref().map(|serial| format!(" {serial}"));
            let serial = serial.unwrap_or_default();
            self.bars.println(format!("{}{serial}: {line}", row.name));
        }
        Ok(())
    }

    fn stopping(&mut self, _now: Timestamp) -> Result<(), Failure> {
        self.bars.println(STOPPING);
        Ok(())
    }

    fn tick(&mut self, _now: Timestamp, _age: Duration, run: &Run) -> Result<(), Failure> {
        let size = tcgetwinsize(rustix::stdio::stderr()).ok();
        let size = size.map(|size| (size.ws_col.into(), size.ws_row.into()));
        let size = size.filter(|(columns, lines)| *columns > 0 && *lines > 0);
        let text = lines(&run.rows, &run.totals(), size.unwrap_or(USUAL)).join("\n");
        self.bars.set_message(text);
        Ok(())
    }

    fn end(&mut self, _now: Timestamp, job: &Job, run: &Run) -> Result<(), Failure> {
        self.bars.finish_and_clear();
        tell(&table::table(job, &run.totals()))
    }
}

impl Drop for Screen {
    /// Removes the bars, so that messages can follow.
    fn drop(&mut self) {
        self.bars.finish_and_clear();
    }
}

/// All lines for a terminal of this size. If they are too many, drives that have ended are left out
/// first.
pub fn lines(rows: &[Row], totals: &Totals, (columns, lines): (usize, usize)) -> Vec<String> {
    // A full last column or last line would scroll.
    let (width, room) = (columns.saturating_sub(1), lines.saturating_sub(3).max(1));
    let mut shown: Vec<&Row> = rows.iter().collect();
    if shown.len() > room {
        shown.sort_by_key(|row| (row.outcome.is_some(), row.number));
        shown.truncate(room);
        shown.sort_by_key(|row| row.number);
    }
    let mut text = table(&shown, width);
    text.push(cut(&sums(totals, rows.len() - shown.len()), width));
    text
}

/// One line for each drive.
fn table(rows: &[&Row], width: usize) -> Vec<String> {
    let columns: Vec<Vec<String>> = COLUMNS
        .iter()
        .map(|(column, _)| rows.iter().map(|row| cell(row, *column)).collect())
        .collect();
    let mut widths: Vec<usize> = columns.iter().map(|cells| widest(cells)).collect();
    let kept = fitting(&widths, width);
    let spare = width.saturating_sub(used(&widths, &kept));
    let is_bar = |&&index: &&usize| COLUMNS[index].0 == Column::Bar;
    if let Some(&bar) = kept.iter().find(is_bar) {
        widths[bar] = (BAR.0 + spare).min(BAR.1);
    }
    let line = |number: usize| {
        let cells = kept.iter().map(|&index| {
            let (cell, width) = (&columns[index][number], widths[index]);
            match COLUMNS[index].0 {
                Column::Bar => bar(rows[number].percent(), width),
                column if is_left(column) => format!("{cell:width$}"),
                _ => format!("{cell:>width$}"),
            }
        });
        let cells: Vec<_> = cells.collect();
        cut(cells.join(&" ".repeat(GAP)).trim_end(), width)
    };
    (0..rows.len()).map(line).collect()
}

fn widest(cells: &[String]) -> usize {
    cells
        .iter()
        .map(|cell| cell.chars().count())
        .max()
        .unwrap_or(0)
}

/// The width of the `kept` columns, with the gaps between them.
fn used(widths: &[usize], kept: &[usize]) -> usize {
    let used: usize = kept.iter().map(|&index| widths[index] + GAP).sum();
    used.saturating_sub(GAP)
}

/// The columns that are not empty and fit into `width` together.
fn fitting(widths: &[usize], width: usize) -> Vec<usize> {
    let mut kept: Vec<usize> = (0..widths.len())
        .filter(|&index| widths[index] > 0)
        .collect();
    while used(widths, &kept) > width && kept.len() > 1 {
        let Some(&least) = kept.iter().max_by_key(|&&index| COLUMNS[index].1) else {
            break;
        };
        kept.retain(|&index| index != least);
    }
    kept
}

fn is_left(column: Column) -> bool {
    matches!(
        column,
        Column::Name | Column::Serial | Column::Phase | Column::Errors
    )
}

fn cell(row: &Row, column: Column) -> String {
    let is_at_work = row.is_at_work();
    let rate = |rate: Option<f64>| match rate {
        Some(rate) => units::rate(rate),
        None => String::new(),
    };
    match column {
        Column::Name => end(&row.name),
        Column::Serial => row.serial.clone().unwrap_or_default(),
        Column::Phase => row.phase(),
        // At its least width; `table` may make it wider.
        Column::Bar => bar(0, BAR.0),
        Column::Percent if row.reading.total == 0 => String::new(),
        Column::Percent => format!("{} %", row.percent()),
        Column::Now => rate(row.now()),
        Column::Average => match row.meter.average() {
            Some(average) => format!("avg {}", units::rate(average)),
            None => String::new(),
        },
        Column::Left if is_at_work => left(row.left()),
        Column::Left => String::new(),
        Column::Errors => row.errors().unwrap_or_default(),
        Column::Celsius => match row.celsius {
            Some(celsius) => format!("{celsius:.0} °C"),
            None => String::new(),
        },
    }
}

fn left(left: Left) -> String {
    let text = text::left(left);
    match left {
        Left::Seconds(_) => text + " left",
        Left::Stalled | Left::Unknown => text,
    }
}

/// The end of a long name, which is where names differ.
fn end(name: &str) -> String {
    match name.chars().count() {
        count if count > NAME => {
            let last = name.chars().skip(count + 1 - NAME);
            ['…'].into_iter().chain(last).collect()
        }
        _ => name.into(),
    }
}

/// A bar of `width` columns.
fn bar(percent: u64, width: usize) -> String {
    let full = width * percent as usize / 100;
    "━".repeat(full) + &"┄".repeat(width - full)
}

fn sums(totals: &Totals, hidden: usize) -> String {
    let ended = totals.drives - totals.under_way;
    let mut parts = vec![match totals.drives {
        1 => "1 drive".into(),
        drives => format!("{ended} of {drives} drives finished"),
    }];
    if hidden > 0 {
        parts.push(format!("{hidden} not shown"));
    }
    parts.push(format!("{} moved", units::volume(totals.moved)));
    parts.extend(totals.now.map(units::rate));
    parts.extend(
        totals
            .average()
            .map(|rate| format!("avg {}", units::rate(rate))),
    );
    if totals.left != Left::Unknown {
        parts.push(left(totals.left));
    }
    parts.join("  ")
}

/// At most `width` columns of `line`.
fn cut(line: &str, width: usize) -> String {
    match line.chars().count() {
        count if count > width => line
            .chars()
            .take(width.saturating_sub(1))
            .chain(['…'])
            .collect(),
        _ => line.into(),
    }
}
