//! How it was measured, by whom else, and how to measure it again.

use maud::{Markup, html};

use crate::report::model::Report;
use crate::report::published::DOCUMENTS;

pub fn section(report: &Report) -> Markup {
    let machine = &report.machine;
    html! {
        section {
            h2 id="method" { "How it was measured" }
            ul.method {
                li {
                    "In rounds: each source once a round, in an order that changes. A sample is the "
                    "mean of a batch of about a millisecond, or one operation that takes longer; "
                    "figures are medians of samples."
                }
                li {
                    "A ratio is the median of the rounds' ratios, so what the machine did meanwhile "
                    "is in both of its parts."
                }
                li {
                    @if machine.pinned {
                        "The thread that measures was bound to one CPU, but for threads, pipes and Go."
                    } @else {
                        "The thread that measures was not bound to a CPU."
                    }
                    (format!(" Reading the clock takes {:.0} ns, ", machine.clock_ns))
                    "which is subtracted from first bytes and negligible for a batch."
                }
                li {
                    "Fit for secrets is a cryptographic generator whose output neither a forked "
                    "child repeats nor a clone that the kernel was told of."
                }
                li { (format!("The run took {:.0} s.", report.seconds)) }
            }
            p { "The same on another machine:" }
            pre { code { (command(report)) } }
        }
        section {
            h2 id="published" { "Published figures" }
            ol.documents {
                @for (index, document) in DOCUMENTS.iter().enumerate() {
                    li id={ "document-" (index + 1) } {
                        cite { (document.title) } ", " (document.year)
                    }
                }
            }
        }
        footer { p.note { "squall " (report.squall_version) ", report of schema " (report.schema) } }
    }
}

fn command(report: &Report) -> String {
    let quick = report.effort.choose(" --quick", "");
    format!("squall bench{quick} --export-html bench.html")
}
