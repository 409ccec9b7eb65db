//! A table of figures: a line a source, a column a place of a workload.

use maud::{Markup, html};

use super::groups::{self, groups};
use crate::report::model::{Point, Report, SourceReport, Workload, workload};
use crate::report::published::{self, DOCUMENTS, Published, Value};
use squall_tools::units;

/// Shortest length of which throughput says more than time, in bytes.
const LONG: u64 = 4 << 10;

/// Stands where nothing was measured.
const NONE: &str = "–";

pub struct Column<'a> {
    workload: &'a Workload,
    at: u64,
    title: String,
}

#[derive(Clone, Copy)]
pub enum Last<'a> {
    /// Whether the source is fit for secrets.
    Security,
    /// What others published of this workload; left out if nothing was.
    Published(&'a Workload),
}

impl<'a> Column<'a> {
    /// What was measured at `at`, called by its place.
    pub fn new(workload: &'a Workload, at: u64) -> Column<'a> {
        Column {
            workload,
            at,
            title: workload.place(at),
        }
    }

    pub fn named(workload: &'a Workload, at: u64, title: &str) -> Column<'a> {
        Column {
            workload,
            at,
            title: title.into(),
        }
    }

    fn point(&self, source: &str) -> Option<&'a Point> {
        self.workload.point(source, self.at)
    }
}

/// The sources that have a figure in any of `columns`; the heading with the id `heading` is its
/// name.
pub fn table(report: &Report, heading: &str, columns: &[Column], last: Last) -> Markup {
    let groups = groups(report, |source| {
        columns
            .iter()
            .any(|column| column.point(&source.name).is_some())
    });
    let last = match last {
        Last::Published(workload) if !is_published(workload) => None,
        last => Some(last),
    };
    let span = columns.len() + 1 + usize::from(last.is_some());
    let rows = |sources: &[&SourceReport]| {
        html! {
            @for source in sources {
                tr {
                    th scope="row" { (source.title) }
                    @for column in columns { (cell(report, column, &source.name)) }
                    @if let Some(last) = last { (last_cell(source, last)) }
                }
            }
        }
    };
    html! {
        div.scroll tabindex="0" role="region" aria-labelledby=(heading) {
            table.figures aria-labelledby=(heading) {
                thead {
                    tr {
                        th scope="col" { "Source" }
                        @for column in columns { th scope="col" { (column.title) } }
                        @if let Some(last) = last { th.text scope="col" { (last.title()) } }
                    }
                }
                @for (group, sources) in &groups {
                    tbody {
                        tr.group { th scope="rowgroup" colspan=(span) { span { (groups::name(*group)) } } }
                        (rows(sources))
                    }
                }
            }
        }
    }
}

impl Last<'_> {
    fn title(self) -> &'static str {
        match self {
            Last::Security => "For secrets",
            Last::Published(_) => "Published",
        }
    }
}

fn last_cell(source: &SourceReport, last: Last) -> Markup {
    match last {
        Last::Security => html! {
            td.text {
                (if source.secure { "yes" } else { "no" })
                @if let Some(caveat) = &source.caveat { small { (caveat) } }
            }
        },
        Last::Published(workload) => html! {
            td.text { (known(workload, &source.name)) }
        },
    }
}

/// A figure, and what there is to it.
fn cell(report: &Report, column: &Column, source: &str) -> Markup {
    let Column { workload, at, .. } = column;
    let Some(point) = column.point(source) else {
        return html! { td.none { (NONE) } };
    };
    let is_best = report.winner(workload, *at) == Some(source);
    let is_kernel = workload.kernel.as_deref() == Some(source);
    let ratio = workload.speedup_over_kernel(point);
    html! {
        td.best[is_best] {
            @if is_best { span.star aria-hidden="true" { "★ " } span.hidden { "fastest: " } }
            (figure(workload, point))
            @if is_kernel {
                small { "kernel" }
            } @else if let Some(ratio) = ratio {
                small { (units::times(ratio)) }
            }
            @if let Some(bytes) = point.discarded {
                small { (units::volume(bytes)) " discarded" }
            }
        }
    }
}

/// A time, or throughput where that says more.
fn figure(workload: &Workload, point: &Point) -> String {
    let is_long = workload.name == workload::FILL && point.at >= LONG;
    match point.rate().filter(|_| is_long || is_by_rate(workload)) {
        Some(rate) => units::rate(rate),
        None => units::time(point.ns.median),
    }
}

/// Whether every figure is throughput.
fn is_by_rate(workload: &Workload) -> bool {
    const NAMES: [&str; 4] = [
        workload::RATE,
        workload::PIPE,
        workload::THREADS_SMALL,
        workload::THREADS_LARGE,
    ];
    NAMES.contains(&workload.name.as_str())
}

/// What the figures of a workload are, for people.
pub fn quantity(workload: &Workload) -> String {
    let Workload { operation, .. } = workload;
    match workload.name.as_str() {
        _ if is_by_rate(workload) => "Throughput.".into(),
        workload::FILL => format!("Time of {operation}, and throughput of long ones."),
        _ => format!("Time of {operation}."),
    }
}

fn is_published(workload: &Workload) -> bool {
    let mut series = workload.series.iter();
    series.any(|series| {
        published::of(&workload.name, &series.source)
            .next()
            .is_some()
    })
}

/// What others published of the source, with the number of the document.
fn known(workload: &Workload, source: &str) -> Markup {
    let figures: Vec<_> = published::of(&workload.name, source).collect();
    let Some(first) = figures.first() else {
        return html! { (NONE) };
    };
    let number = DOCUMENTS
        .iter()
        .position(|document| *document == first.document);
    let texts: Vec<_> = figures
        .iter()
        .map(|figure| text(workload, figure))
        .collect();
    html! {
        (texts.join(if first.at.is_some() { ", " } else { " to " }))
        @if let Some(number) = number { " " (citation(number)) }
    }
}

/// A link to the document in the list of them.
fn citation(number: usize) -> Markup {
    let number = number + 1;
    html! { a href={ "#document-" (number) } { "[" (number) "]" } }
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
