//! A table of figures: a line a source, a column a place of a workload.

use maud::{Markup, html};
use squall_tools::units;

use crate::report::columns::{Column, NONE, groups};
use crate::report::model::{Group, Report, SourceReport};

/// A last column: its heading, and what it has for a source.
type Last<'a> = (&'a str, &'a dyn Fn(&SourceReport) -> Markup);

/// The sources that have a figure in any of `columns`; the heading with the id `heading` is its
/// name.
pub fn table(report: &Report, heading: &str, columns: &[Column], last: Option<Last>) -> Markup {
    let span = columns.len() + 1 + usize::from(last.is_some());
    let row = |source: &SourceReport| {
        html! {
            tr {
                th scope="row" { (source.title) }
                @for column in columns { (cell(report, column, &source.name)) }
                @if let Some((_, cell)) = last { td.text { (cell(source)) } }
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
                        @if let Some((title, _)) = last { th.text scope="col" { (title) } }
                    }
                }
                @for (group, sources) in groups(report, columns) {
                    tbody {
                        tr.group { th scope="rowgroup" colspan=(span) { span { (family(group)) } } }
                        @for source in sources { (row(source)) }
                    }
                }
            }
        }
    }
}

fn family(group: Group) -> &'static str {
    match group {
        Group::Squall => "squall",
        Group::Variant => "squall with one thing changed",
        Group::Kernel => "The kernel's generator",
        Group::Library => "Libraries and languages",
        Group::Accumulator => "Accumulators of entropy",
        Group::Other => "Not for secrets",
    }
}

/// A figure, and what there is to it.
fn cell(report: &Report, column: &Column, source: &str) -> Markup {
    let Some(point) = column.point(source) else {
        return html! { td.none { (NONE) } };
    };
    let is_best = column.is_best(report, source);
    let is_kernel = column.workload.kernel.as_deref() == Some(source);
    html! {
        td.best[is_best] {
            @if is_best { span.star aria-hidden="true" { "★ " } span.hidden { "fastest: " } }
            (column.figure(point))
            @if is_kernel {
                small { "kernel" }
            } @else if let Some(ratio) = column.ratio(source) {
                small { (units::times(ratio)) }
            }
            @if let Some(bytes) = point.discarded {
                small { (units::volume(bytes)) " discarded" }
            }
        }
    }
}
