//! The report as one page of HTML: without scripts, without anything from elsewhere, for a phone
//! and for the dark as well.
//!
//! Everything of the report is text and escaped as such; only plots and the style sheet, which
//! are made here, stand as they are.

mod known;
mod method;
mod plots;
mod selection;
mod table;
mod top;

use maud::{Markup, html};
use squall_tools::page::figures;

use super::columns;
use super::model::{Report, SourceReport, State, Workload, workload};

const STYLE: &str = include_str!("page/style.css");

/// States without figures, and what is said of them.
const LEFT_OUT: [(State, &str, &str); 3] = [
    (
        State::Disqualified,
        "Disqualified",
        "Their output cannot be random.",
    ),
    (
        State::Failed,
        "Failed",
        "They failed while they were measured.",
    ),
    (State::Missing, "Missing", "They are not on this machine."),
];

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
        @for states in LEFT_OUT { (left_out(report, states)) }
        (method::section(report))
    };
    let title = format!("Sources of randomness on {}", report.machine.cpu);
    let style = [&figures::style(), STYLE].concat();
    squall_tools::page::page(&title, &style, &content)
}

fn overview(report: &Report) -> Markup {
    let security = |source: &SourceReport| {
        html! {
            (if source.secure { "yes" } else { "no" })
            @if let Some(caveat) = &source.caveat { small { (caveat) } }
        }
    };
    html! {
        section {
            h2 id="overview" { "At a glance" }
            p.note {
                "Time of a request, and throughput of long ones. ★ marks the fastest of the sources "
                "that are fit for secrets; below each figure stands how many times as fast as the "
                "kernel's source it is."
            }
            (table::table(report, "overview", &columns::main(report), Some(("For secrets", &security))))
        }
    }
}

fn section(report: &Report, workload: &Workload) -> Markup {
    let body = html! {
        p.note { (quantity(workload)) }
        (table::table(report, &workload.name, &columns::of(workload), None))
        (known::list(report, workload))
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

/// What the figures of a workload are, for people.
fn quantity(workload: &Workload) -> String {
    let Workload {
        operation, name, ..
    } = workload;
    match name.as_str() {
        name if columns::BY_RATE.contains(&name) => "Throughput.".into(),
        workload::FILL => format!("Time of {operation}, and throughput of long ones."),
        _ => format!("Time of {operation}."),
    }
}

/// Sources without figures, and why.
fn left_out(report: &Report, (state, heading, note): (State, &str, &str)) -> Markup {
    let sources = report.sources.iter().filter(|source| source.state == state);
    let sources: Vec<_> = sources.collect();
    html! {
        @if !sources.is_empty() {
            section {
                h2 id=(heading.to_lowercase()) { (heading) }
                p.note { (note) }
                dl.reasons {
                    @for source in sources {
                        div {
                            dt { (source.title) }
                            dd { (source.reason.as_deref().unwrap_or("no reason was given")) }
                        }
                    }
                }
            }
        }
    }
}
