//! What others published, beside our figures.

use maud::{Markup, html};
use squall_tools::units;

use crate::report::columns::NONE;
use crate::report::model::Workload;
use crate::report::published::{self, DOCUMENTS, Published, Value};

/// Whether anything was published of a source of `workload`.
pub fn has_any(workload: &Workload) -> bool {
    let sources = workload.series.iter().map(|series| series.source.as_str());
    sources
        .flat_map(|source| published::of(&workload.name, source))
        .next()
        .is_some()
}

/// What others published of the source, with the number of the document.
pub fn figures(workload: &Workload, source: &str) -> Markup {
    let figures: Vec<_> = published::of(&workload.name, source).collect();
    let Some(first) = figures.first() else {
        return html! { (NONE) };
    };
    let texts: Vec<_> = figures
        .iter()
        .map(|figure| text(workload, figure))
        .collect();
    let number = DOCUMENTS
        .iter()
        .take_while(|document| **document != first.document)
        .count()
        + 1;
    html! {
        (texts.join(if first.at.is_some() { ", " } else { " to " })) " "
        a href={ "#document-" (number) } { "[" (number) "]" }
    }
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
