//! The report as one page of HTML: without scripts, without anything from elsewhere, for a phone
//! and for the dark as well.
//!
//! Everything of the report is text and escaped as such; only plots and the style sheet, which
//! are made here, stand as they are.

mod groups;
mod left_out;
mod method;
mod plots;
mod selection;
mod table;
mod top;

use maud::{Markup, html};
use squall_tools::page::figures;

use super::model::{Report, Workload, workload};
use table::{Column, Last};

const STYLE: &str = include_str!("page/style.css");

/// Lengths that the first table shows, behind `u32` and `u64`.
const LENGTHS: [u64; 5] = [16, 32, 1 << 10, 16 << 10, 16 << 20];

/// Workloads that have a section of their own, in its order.
const SECTIONS: [&str; 9] = [
    workload::PROPOSAL,
    workload::PIPELINE,
    workload::RATE,
    workload::PIPE,
    workload::THREADS_SMALL,
    workload::THREADS_LARGE,
    workload::START,
    workload::FORK,
    workload::FILL,
];

/// The page.
pub fn page(report: &Report) -> String {
    let content = html! {
        (top::top(report))
        (overview(report))
        (plots::section(report))
        @for workload in SECTIONS.iter().filter_map(|name| report.workload(name)) {
            (section(report, workload))
        }
        (left_out::sections(report))
        (method::section(report))
    };
    let title = format!("Sources of randomness on {}", report.machine.cpu);
    squall_tools::page::page(&title, &style(), &content)
}

fn style() -> String {
    [&figures::style(), STYLE].concat()
}

fn overview(report: &Report) -> Markup {
    let words = report.workload(workload::WORDS);
    let fill = report.workload(workload::FILL);
    let mut columns = Vec::new();
    for (title, at) in [("u32", 4), ("u64", 8)] {
        columns.extend(words.map(|workload| Column::named(workload, at, title)));
    }
    for at in LENGTHS {
        columns.extend(fill.map(|workload| Column::new(workload, at)));
    }
    html! {
        section {
            h2 id="overview" { "At a glance" }
            p.note {
                "Time of a request, and throughput of long ones. ★ marks the fastest of the sources "
                "that are fit for secrets; below each figure stands how many times as fast as the "
                "kernel's source it is."
            }
            (table::table(report, "overview", &columns, Last::Security))
        }
    }
}

fn section(report: &Report, workload: &Workload) -> Markup {
    let places = workload.places();
    let columns: Vec<_> = places
        .into_iter()
        .map(|at| Column::new(workload, at))
        .collect();
    let body = html! {
        p.note { (table::quantity(workload)) }
        (table::table(report, &workload.name, &columns, Last::Published(workload)))
        @if !workload.failures.is_empty() {
            p.note.below { "What failed:" }
            ul.note { @for failure in &workload.failures { li { (failure) } } }
        }
    };
    html! {
        section {
            h2 id=(workload.name) { (workload.title) }
            // The table of all lengths is wide, and its plots are above.
            @if workload.name == workload::FILL {
                details { summary { "Every length" } (body) }
            } @else {
                (body)
            }
        }
    }
}
