//! A document as text. If a terminal is too narrow for all columns of a table, several tables repeat its
//! first ones.

use std::ops::Range;

use super::{Cell, Document, Kind, Medium, Part, Table};
use crate::columns::{columns, hanging, lines, paragraph, whole};
use crate::text::in_a_line;

/// Blanks between columns.
const GAP: usize = 1;

/// Marks the best figure of a column.
const BEST: &str = "*";

pub fn write(document: &Document, width: Option<usize>) -> String {
    let mut text = String::new();
    let mut writer = Writer {
        text: &mut text,
        width,
    };
    for (word, sentence) in &document.warnings {
        writer.warning(word, sentence);
    }
    writer.paragraph(&document.machine);
    writer.parts(&document.parts);
    if let Some(Part::Advice(_)) = document.advice.first() {
        writer.text.push('\n');
    }
    writer.parts(&document.advice);
    text
}

struct Writer<'a> {
    text: &'a mut String,
    width: Option<usize>,
}

impl Writer<'_> {
    fn parts(&mut self, parts: &[Part]) {
        parts.iter().for_each(|part| self.part(part));
    }

    fn part(&mut self, part: &Part) {
        match part {
            Part::Section(section) => {
                self.text.push('\n');
                self.paragraph(&section.heading);
                self.parts(&section.parts);
            }
            Part::Verdict(verdict) => {
                self.paragraph(&verdict.word);
                verdict.sentences.iter().for_each(|it| self.paragraph(it));
            }
            Part::Warning(word, sentence) => self.warning(word, sentence),
            Part::Advice(sentence) | Part::Note(sentence) => self.paragraph(sentence),
            Part::Items(items) => items.iter().for_each(|(item, _)| self.item("-", item)),
            Part::Sources(sources) => {
                for (number, source) in (1..).zip(sources) {
                    self.item(&format!("[{number}]"), source);
                }
            }
            Part::Facts(facts) => {
                let facts = facts.iter().map(|(name, fact)| format!("{name}: {fact}"));
                self.paragraph(&facts.collect::<Vec<_>>().join("; "));
            }
            Part::Copy(what, line) => {
                *self.text += &format!("\n{}:\n{}\n", in_a_line(what), in_a_line(line))
            }
            Part::Table(table) => *self.text += &write_table(table, self.width),
            Part::Folded(_, parts) | Part::OnTerminal(parts) => self.parts(parts),
            Part::Plots(_) | Part::Signature(_) | Part::OnPage(_) => {}
        }
    }

    fn paragraph(&mut self, sentence: &str) {
        *self.text += &paragraph(sentence, self.width);
    }

    fn warning(&mut self, word: &str, sentence: &str) {
        self.paragraph(&format!("{}: {sentence}", word.to_uppercase()));
    }

    fn item(&mut self, mark: &str, item: &str) {
        *self.text += &hanging(&format!("{mark} {item}"), mark.len() + 1, self.width);
    }
}

fn write_table(table: &Table, width: Option<usize>) -> String {
    let is_shown = |index: &usize| table.columns[*index].medium != Medium::Page;
    let shown: Vec<usize> = (0..table.columns.len()).filter(is_shown).collect();
    let is_number = |place: usize| table.columns[shown[place]].kind == Kind::Number;
    let title = |index: &usize| table.columns[*index].title.clone();
    let mut rows: Vec<Vec<String>> = vec![shown.iter().map(title).collect()];
    // Groups of a row or so would be mostly gaps.
    let has_gaps = table
        .groups
        .iter()
        .map(|(_, rows)| rows.len())
        .sum::<usize>()
        >= 2 * table.groups.len();
    for (number, (_, group)) in table.groups.iter().enumerate() {
        if number > 0 && has_gaps {
            rows.push(vec![String::new(); shown.len()]);
        }
        let cells = |row: &Vec<Cell>| shown.iter().map(|index| cell(table, row, *index)).collect();
        rows.extend(group.iter().map(cells));
    }
    let is_kind = |kind| {
        shown
            .iter()
            .position(|index| table.columns[*index].kind == kind)
    };
    if is_kind(Kind::Prose).is_some() {
        let mut wrapped = columns(width);
        let titles = rows.remove(0);
        if titles.iter().any(|title| !title.is_empty()) {
            wrapped.set_header(titles);
        }
        wrapped.add_rows(rows);
        if let Some(names) = is_kind(Kind::Name) {
            whole(&mut wrapped, names);
        }
        return lines(&mut wrapped, GAP as u16, is_number);
    }
    let heads = table.columns[..table.heads].iter();
    let heads = heads.filter(|column| column.medium != Medium::Page).count();
    let part = |range: Range<usize>| {
        let places: Vec<usize> = (0..heads).chain(range).collect();
        let mut table = columns(None);
        let mut rows = rows
            .iter()
            .map(|row| places.iter().map(|place| &row[*place]));
        rows.next().map(|titles| table.set_header(titles));
        table.add_rows(rows);
        lines(&mut table, GAP as u16, |place| is_number(places[place]))
    };
    let parts = split(&rows, heads, width).into_iter().map(part);
    parts.collect::<Vec<_>>().join("\n")
}

/// A cell, with its mark and its details.
fn cell(table: &Table, row: &[Cell], index: usize) -> String {
    let cell = &row[index];
    let mut text = in_a_line(&cell.text);
    let is_marked = |(_, rows): &(_, Vec<Vec<Cell>>)| rows.iter().any(|row| row[index].is_best);
    if cell.is_best {
        text += BEST;
    } else if !cell.text.is_empty() && table.groups.iter().any(is_marked) {
        text += " ";
    }
    let details = cell.below.iter().filter(|_| table.has_details);
    let doubt = cell.doubt.map(str::to_owned);
    for line in details.cloned().chain(doubt) {
        text += &format!("\n{}", in_a_line(&line));
    }
    text
}

/// Divides the columns behind the first `heads` among as few tables as possible, about equally.
fn split(rows: &[Vec<String>], heads: usize, width: Option<usize>) -> Vec<Range<usize>> {
    let count = rows[0].len();
    let widest = |column: usize| {
        let lines = rows.iter().flat_map(|row| row[column].lines());
        lines.map(|line| line.chars().count()).max().unwrap_or(0) + GAP
    };
    let head: usize = (0..heads).map(widest).sum();
    let cell = (heads..count).map(widest).max().unwrap_or(1);
    let cells = (count - heads).max(1);
    let fit = match width {
        Some(width) => (width.saturating_sub(head) / cell).max(1),
        None => cells,
    };
    let most = cells.div_ceil(cells.div_ceil(fit));
    let starts = (heads..heads + cells).step_by(most);
    starts.map(|start| start..count.min(start + most)).collect()
}
