//! What others published, below our figures.

use maud::{Markup, html};
use squall_tools::units;

use crate::report::model::{Report, Workload};
use crate::report::published::{self, DOCUMENTS, Published, Value};

/// A line for each source of `workload` of which others published something; nothing if they did of
/// none.
pub fn list(report: &Report, workload: &Workload) -> Markup {
    let sources = workload.series.iter().map(|series| series.source.as_str());
    let known = sources.filter_map(|source| Some((source, figures(workload, source)?)));
    let known: Vec<(&str, Markup)> = known.collect();
    html! {
        @if !known.is_empty() {
            p.note.below { "Figures that others published, of other machines:" }
            ul.note {
                @for (source, figures) in &known { li { (report.title(source)) ": " (figures) } }
            }
        }
    }
}

/// What others published of the source, with the number of the document; none if they did not.
fn figures(workload: &Workload, source: &str) -> Option<Markup> {
    let figures: Vec<_> = published::of(&workload.name, source).collect();
    let first = figures.first()?;
    let texts: Vec<_> = figures
        .iter()
        .map(|figure| text(workload, figure))
        .collect();
    let number = DOCUMENTS
        .iter()
        .take_while(|document| **document != first.document)
        .count()
        + 1;
    Some(html! {
        (texts.join(if first.at.is_some() { ", " } else { " to " })) " "
        a href={ "#document-" (number) } { "[" (number) "]" }
    })
}

fn text(workload: &Workload, figure: &Published) -> String {
    let value = match figure.value {
        Value::Ns(ns) => units::time(ns),
        Value::Rate(rate) => units::rate(rate),
    };
    match figure.at {
        Some(at) => format!("{}: {value}", workload.place(at)),
        None => value,
    }
}
