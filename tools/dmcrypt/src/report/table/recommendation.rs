//! The recommendation for this machine, with the lines to copy, each on a line of its own.

use squall_tools::text::in_a_line;

use super::{heading, warnings};
use crate::model::{Bench, Recommendation};
use crate::report::phrases;
use squall_tools::columns::paragraph;

/// Appends the recommendation to `text`.
pub fn write(text: &mut String, bench: &Bench, width: Option<usize>) {
    let Some(recommendation) = &bench.recommendation else {
        heading(text, "Recommendation", width);
        text.push_str(&paragraph(phrases::NO_RECOMMENDATION, width));
        return;
    };
    let Recommendation {
        spec,
        options,
        why,
        notes,
        ..
    } = recommendation;
    let what = format!("Recommendation: {spec}, {}", phrases::options(options));
    heading(text, &what, width);
    text.push_str(&paragraph(why, width));
    warnings(text, bench, width);
    for (what, line) in phrases::to_copy(recommendation) {
        *text += &format!("\n{what}:\n{}\n", in_a_line(line));
    }
    if !notes.is_empty() {
        text.push('\n');
    }
    for note in notes {
        text.push_str(&paragraph(&format!("- {note}"), width));
    }
}
