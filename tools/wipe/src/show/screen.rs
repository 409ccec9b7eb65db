//! Bars on a terminal: a line for each drive and one of totals, no wider than the terminal, with
//! events above them.
//!
//! When a terminal becomes narrower, it may break the lines on it, so that nobody knows where they are. After each
//! change of its size, the screen is drawn anew from its top, with the last events. Many terminals keep what is erased
//! so among the lines above the screen. The bars, as high as they are if the terminal has broken them, are therefore
//! erased before.

use std::collections::VecDeque;
use std::time::Duration;

use indicatif::ProgressDrawTarget;
use jiff::Timestamp;
use squall_tool_base::columns::{columns, hanging, lines};
use squall_tool_base::text::in_a_line;
use squall_tool_base::{Failure, output, units};

use crate::progress::EventKind;
use crate::record::Job;

use super::bars::{Bars, Line};
use super::log::Words;
use super::row::Row;
use super::run::Run;
use super::{Prompt, STOPPING, View, log, table, tell};

/// Columns and lines of a terminal that does not tell its size.
const USUAL: (usize, usize) = (80, 24);

/// The fewest columns with which there is room for bars.
const WIDE: usize = 80;

/// The columns of a bar, and of the blanks behind it.
const BAR: usize = 12;

/// Which of the columns are numbers.
const NUMBERS: [bool; 9] = [false, true, false, true, true, false, true, false, true];

/// The most events that are kept to be drawn anew.
const KEPT: usize = 100;

/// The most columns of a name.
const NAME: usize = 24;

pub struct Screen {
    /// The lines of drives, which not all may have, and that of the totals.
    bars: Bars,
    words: Words,
    /// The size for which the bars were drawn.
    size: Option<(usize, usize)>,
    /// The last events.
    said: VecDeque<String>,
    prompt: Prompt,
}

impl Screen {
    pub fn on(target: ProgressDrawTarget, characters: &'static str) -> Screen {
        Screen {
            bars: Bars::on(target, characters),
            words: Words::default(),
            size: None,
            said: VecDeque::new(),
            prompt: Prompt::default(),
        }
    }

    /// Shows how far `run` is, on a terminal of this size. If its lines are too few, drives that have
    /// ended are left out first.
    pub fn show(&mut self, run: &Run, (columns, lines): (usize, usize)) {
        let room = lines.saturating_sub(3).max(1);
        let mut shown: Vec<&Row> = run.rows.iter().collect();
        shown.sort_by_key(|row| (row.outcome.is_some(), row.number));
        shown.truncate(room);
        shown.sort_by_key(|row| row.number);
        let hidden = run.rows.len() - shown.len();
        let totals = || self.line_of_totals(run, hidden, columns);
        let totals = self.prompt.question.clone().unwrap_or_else(totals);
        let has_bars = columns >= WIDE;
        let room = columns - if has_bars { BAR } else { 0 };
        let texts = drives(&shown, self.prompt.question.is_some(), room);
        let drives = shown.iter().zip(texts.lines()).map(|(row, text)| Line {
            text: text.into(),
            progress: has_bars.then_some((row.reading.done, row.reading.total)),
        });
        let totals = Line {
            text: totals,
            progress: None,
        };
        let lines: Vec<_> = drives.chain([totals]).collect();
        self.bars.show(&lines);
    }

    /// The totals of `run`, of which so many rows are hidden, and the keys. What matters least is left out first, if it
    /// does not fit.
    fn line_of_totals(&self, run: &Run, hidden: usize, columns: usize) -> String {
        let mut totals = run.totals().ranked();
        if hidden > 0 {
            totals.insert(1, (1, format!("{hidden} not shown")));
        }
        if self.prompt.watches {
            totals.insert(1, (0, "waits for drives until q".into()));
        }
        if self.prompt.has_keys {
            totals.push((0, "s skips a drive".into()));
        }
        loop {
            let texts: Vec<_> = totals.iter().map(|(_, text)| &text[..]).collect();
            let line = texts.join(", ");
            let last = totals.iter().map(|(rank, _)| *rank).max();
            match last {
                Some(last) if last > 0 && line.chars().count() > columns => {
                    totals.retain(|(rank, _)| *rank < last);
                }
                _ => return line,
            }
        }
    }

    /// Learns the size of the terminal. If it has changed, draws the last events anew.
    fn fit(&mut self) -> (usize, usize) {
        let now = size();
        if let Some(before) = self.size.replace(now).filter(|before| *before != now) {
            self.begin_anew(before.0, now);
        }
        now
    }

    /// Draws the last events anew, on a terminal that had `before` so many columns, and has this size now.
    fn begin_anew(&mut self, before: usize, (columns, lines): (usize, usize)) {
        let (first, then) = erase(self.bars.len().max(1), before, columns);
        let _ = tell(&first);
        self.bars.hide();
        let _ = tell(&then);
        let room = lines.saturating_sub(self.bars.len() + 1);
        let said = self.said.iter();
        let said: String = said.map(|line| fitted(line, columns)).collect();
        let lines: Vec<_> = said.lines().collect();
        for line in &lines[lines.len().saturating_sub(room)..] {
            self.bars.print(line);
        }
    }

    fn say(&mut self, line: String) {
        let (columns, _) = self.fit();
        self.bars.print(fitted(&line, columns).trim_end());
        if self.said.len() == KEPT {
            self.said.pop_front();
        }
        self.said.push_back(line);
    }
}

impl View for Screen {
    fn event(&mut self, _now: Timestamp, row: &Row, what: &EventKind) -> Result<(), Failure> {
        if let Some(line) = self.words.line(row, what) {
            let serial = row.serial.as_deref().map(|serial| format!(" {serial}"));
            let serial = serial.unwrap_or_default();
            self.say(format!("{}{serial}: {line}", row.name));
        }
        Ok(())
    }

    fn stopping(&mut self, _now: Timestamp) -> Result<(), Failure> {
        self.say(STOPPING.into());
        Ok(())
    }

    fn prompt(&mut self, prompt: Prompt) {
        self.prompt = prompt;
    }

    fn remark(&mut self, _now: Timestamp, line: &str) -> Result<(), Failure> {
        self.say(in_a_line(line));
        Ok(())
    }

    fn hide(&mut self) {
        self.bars.hide();
    }

    fn tick(&mut self, _now: Timestamp, _age: Duration, run: &Run) -> Result<(), Failure> {
        let size = self.fit();
        self.show(run, size);
        Ok(())
    }

    fn answer(&mut self, _now: Timestamp, run: &Run) -> Result<(), Failure> {
        log::lines(run).for_each(|line| self.say(line));
        Ok(())
    }

    fn end(&mut self, _now: Timestamp, job: &Job, run: &Run) -> Result<(), Failure> {
        self.bars.clear();
        tell(&table::table(job, &run.totals(), output::error_width()))
    }
}

fn size() -> (usize, usize) {
    let size = output::error_size().filter(|(_, lines)| *lines > 0);
    size.unwrap_or(USUAL)
}

/// What to print before so many lines of bars are erased, and what to erase the screen after that. Each bar filled a line
/// of `before` columns and runs into the next, so a terminal that breaks lines anew has other lines of `now` columns. If
/// it has more, they are above those that are erased. If it has fewer, what is above the bars would be erased, too.
fn erase(bars: usize, before: usize, now: usize) -> (String, String) {
    let broken = (bars * before).div_ceil(now.max(1));
    let rest = match broken.saturating_sub(bars) {
        0 => String::new(),
        above => format!("\x1b[{above}A\x1b[J"),
    };
    let missing = "\n".repeat(bars.saturating_sub(broken));
    (missing, rest + "\x1b[H\x1b[2J")
}

/// An event in lines that fit.
fn fitted(line: &str, columns: usize) -> String {
    hanging(line, 2, Some(columns))
}

/// Drives in a line each, with numbers if they `are_numbered`. What matters least comes last, and is left out where there
/// is no `room` for it.
fn drives(rows: &[&Row], are_numbered: bool, room: usize) -> String {
    let mut cells: Vec<_> = rows.iter().map(|row| cells(row)).collect();
    if are_numbered {
        for (cells, row) in cells.iter_mut().zip(rows) {
            cells[0] = format!("{}: {}", row.number + 1, cells[0]);
        }
    }
    let is_used = |column: &usize| cells.iter().any(|cells| !cells[*column].is_empty());
    let mut used: Vec<usize> = (0..NUMBERS.len()).filter(is_used).collect();
    loop {
        let shown = |cells: &[String; NUMBERS.len()]| -> Vec<_> {
            used.iter().map(|&it| cells[it].clone()).collect()
        };
        let mut table = columns(None);
        table.add_rows(cells.iter().map(shown));
        let text = lines(&mut table, 2, |column| NUMBERS[used[column]]);
        if used.len() <= 1 || text.lines().all(|line| line.chars().count() <= room) {
            return text;
        }
        used.pop();
    }
}

fn cells(row: &Row) -> [String; NUMBERS.len()] {
    let percent = format!("{} %", row.percent());
    let average = row.meter.average().map(units::rate);
    let texts = [
        Some(name(row)),
        Some(percent).filter(|_| row.reading.total > 0),
        Some(row.phase()),
        row.now().map(units::rate),
        row.left().text(),
        row.errors(),
        row.celsius().map(|celsius| format!("{celsius:.0} °C")),
        row.serial.clone(),
        average.map(|rate| format!("{rate} average")),
    ];
    texts.map(Option::unwrap_or_default)
}

/// The end of a long name, which is where names differ.
fn name(row: &Row) -> String {
    match row.name.chars().count() {
        count if count > NAME => {
            let last = row.name.chars().skip(count + 1 - NAME);
            ['…'].into_iter().chain(last).collect()
        }
        _ => row.name.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four lines of 160 columns are 640 cells, which are 13 lines of 50 columns, of which 4 are erased already. Four
    /// lines of 50 columns are 2 of 120.
    #[test]
    fn broken_bars_are_erased_and_nothing_above_them() {
        const SCREEN: &str = "\x1b[H\x1b[2J";
        for (before, now, first, rest) in [
            (160, 50, "", "\x1b[9A\x1b[J"),
            (50, 120, "\n\n", ""),
            (80, 80, "", ""),
        ] {
            let expected = (first.into(), format!("{rest}{SCREEN}"));
            assert_eq!(erase(4, before, now), expected);
        }
    }
}
