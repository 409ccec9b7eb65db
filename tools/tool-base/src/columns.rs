//! Columns and paragraphs for terminals.

pub use comfy_table::Table;
use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement};

use textwrap::{Options, WordSeparator, WordSplitter, wrap};

use crate::text::in_a_line;

/// A table that fits into `width` columns; `None` makes it as wide as its content.
pub fn columns(width: Option<usize>) -> Table {
    let mut table = Table::new();
    table.load_preset(NOTHING);
    if let Some(width) = width {
        table.set_content_arrangement(ContentArrangement::Dynamic);
        table.set_width(u16::try_from(width).unwrap_or(u16::MAX));
    }
    table
}

/// Never wraps the text in `column`, even if it is wider than the terminal.
pub fn whole(table: &mut Table, column: usize) {
    if let Some(column) = table.column_mut(column) {
        column.set_constraint(ColumnConstraint::ContentWidth);
    }
}

/// Leaves out the text in `column`, for which a terminal is too narrow.
pub fn hide(table: &mut Table, column: usize) {
    if let Some(column) = table.column_mut(column) {
        column.set_constraint(ColumnConstraint::Hidden);
    }
}

/// The table's lines, with the columns that are numbers (`is_number`) aligned to the right, and so many
/// blanks between columns.
pub fn lines(table: &mut Table, gap: u16, is_number: impl Fn(usize) -> bool) -> String {
    for (index, column) in table.column_iter_mut().enumerate() {
        if is_number(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        column.set_padding((0, gap));
    }
    let lines = table.lines().map(|line| format!("{}\n", line.trim_end()));
    lines.collect()
}

/// Wraps `text` at `width` columns, but not in words.
pub fn paragraph(text: &str, width: Option<usize>) -> String {
    hanging(text, 0, width)
}

/// Like [`paragraph`], with so many blanks before each line but the first.
pub fn hanging(text: &str, indent: usize, width: Option<usize>) -> String {
    let text = in_a_line(text);
    let indent = " ".repeat(indent);
    // Names and commands are copied: no part of them goes to another line.
    let options = Options::new(width.unwrap_or(usize::MAX))
        .subsequent_indent(&indent)
        .break_words(false)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation);
    let lines = wrap(&text, options).into_iter();
    lines.map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_between_words() {
        let text = "  name  a well-known /dev/disk/by-id/ata-ST4000NM0035 drive";
        for (width, expected) in [
            (None, format!("{text}\n")),
            (Some(80), format!("{text}\n")),
            (
                Some(20),
                "  name  a well-known\n        /dev/disk/by-id/ata-ST4000NM0035\n        drive\n"
                    .into(),
            ),
        ] {
            assert_eq!(hanging(text, 8, width), expected, "{width:?}");
        }
        assert_eq!(paragraph("one two", Some(4)), "one\ntwo\n");
        assert_eq!(paragraph("", Some(4)), "\n");
    }
}
