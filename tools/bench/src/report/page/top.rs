//! The top of the page: what is to be done, what is to be doubted, and the machine.

use maud::{Markup, html};

use crate::report::facts::Facts;
use crate::report::model::{Machine, Report};

pub fn top(report: &Report) -> Markup {
    html! {
        header {
            p.kicker { "squall bench" }
            h1 { "Sources of randomness, side by side" }
            p.note {
                (report.machine.cpu) ", Linux " (report.machine.kernel) " · "
                time datetime=(report.date) { (day(&report.date)) }
            }
        }
        @if !report.complete {
            p.warning {
                strong { "Incomplete. " }
                "The run was interrupted: workloads or points are missing."
            }
        }
        @if let Some(warning) = &report.noise.warning {
            p.warning { strong { "Noise. " } (warning) }
        }
        p.advice { (report.advice) }
        section {
            h2 id="machine" { "The machine" }
            dl.facts {
                @for (name, value) in facts(report) {
                    div { dt { (name) } dd { (value) } }
                }
            }
            (versions(&report.machine))
        }
    }
}

/// A date as people read it: without the letters of RFC 3339.
fn day(date: &str) -> String {
    date.replace('T', " ").replace('Z', " UTC")
}

fn facts(report: &Report) -> Facts {
    let noise = &report.noise;
    let noise = format!(
        "quartiles {:.1} % apart, {:.1} % of the time stolen, load average {}",
        noise.spread_percent, noise.steal_percent, noise.load
    );
    let mut facts = report.machine.facts();
    facts.extend([("squall", report.squall_version.clone()), ("Noise", noise)]);
    facts
}

fn versions(machine: &Machine) -> Markup {
    html! {
        details {
            summary { "Versions" }
            dl.facts {
                @for version in &machine.versions {
                    div { dt { (version.of) } dd { (version.version) } }
                }
            }
        }
    }
}
