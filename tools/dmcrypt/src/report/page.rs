//! The measurement as one page of HTML, without scripts and external resources. It suits phones and
//! dark mode.
//!
//! All text is escaped. Only the plots and the style sheet, which are made here, are inserted as they
//! are.

mod chart;
mod method;
mod plots;
mod recommendation;
mod table;

use maud::{Markup, html};
use squall_tools::page::figures;
use squall_tools::units;

use super::phrases;
use crate::model::{Bench, LeftOut};

const STYLE: &str = include_str!("page/style.css");

/// The page as HTML.
pub fn html(bench: &Bench) -> String {
    let content = html! {
        (top(bench))
        (recommendation::section(bench))
        (plots::section(bench))
        (table::ranking(bench))
        (table::variants(bench))
        (table::authenticated(bench))
        (left_out(&bench.left_out))
        (failures(bench))
        (machine(bench))
        (method::section(bench))
    };
    let title = format!("Disk encryption on {}", bench.machine.cpu);
    let style = [&figures::style(), STYLE].concat();
    squall_tools::page::page(&title, &style, &content)
}

/// The head of the page: its title, the machine, and warnings.
fn top(bench: &Bench) -> Markup {
    let at = bench.at.strftime("%Y-%m-%d %H:%M UTC").to_string();
    html! {
        header {
            p.kicker { "squall dmcrypt bench" }
            h1 { "Disk encryption on this machine" }
            p.note {
                (bench.machine.cpu) ", Linux " (bench.machine.kernel) ", " (phrases::backing(bench)) " · "
                time datetime=(bench.at) { (at) }
            }
        }
        (emulated(bench))
        @if !bench.is_complete {
            p.warning { strong { "Incomplete. " } (phrases::INCOMPLETE) }
        }
    }
}

/// The warning about an emulated machine, if it is one.
fn emulated(bench: &Bench) -> Markup {
    html! {
        @if bench.machine.is_emulated {
            p.warning { strong { "Emulated. " } (phrases::EMULATED) }
        }
    }
}

/// A table of what was left out, with a row for each rule.
fn left_out(groups: &[LeftOut]) -> Markup {
    html! {
        @if !groups.is_empty() {
            section {
                h2 id="left-out" { "What was left out" }
                p.note {
                    "The kernel accepts these specifications; each is counted under the first rule "
                    "against it."
                }
                div.scroll tabindex="0" role="region" aria-labelledby="left-out" {
                    table aria-labelledby="left-out" {
                        thead {
                            tr {
                                th scope="col" { "Rule" }
                                th scope="col" { "Specifications" }
                                th scope="col" { "Why" }
                                th scope="col" { "Modes and ciphers" }
                            }
                        }
                        tbody { @for group in groups { (rule(group)) } }
                    }
                }
            }
        }
    }
}

fn rule(group: &LeftOut) -> Markup {
    let LeftOut {
        reason,
        count,
        algorithms,
    } = group;
    html! {
        tr {
            th scope="row" { (reason.rule) }
            td { (count) small { (phrases::verdict(reason.verdict)) } }
            td.prose { (reason.reason) small { (reason.source) } }
            td.prose { (algorithms.join(", ")) }
        }
    }
}

fn failures(bench: &Bench) -> Markup {
    html! {
        @if !bench.failures.is_empty() {
            section {
                h2 id="failures" { "What could not be measured" }
                ul.note {
                    @for failed in &bench.failures { li { (failed.name) ": " (failed.reason) } }
                }
            }
        }
    }
}

fn machine(bench: &Bench) -> Markup {
    let Bench {
        machine, backing, ..
    } = bench;
    let emulated = if machine.is_emulated {
        ", emulated"
    } else {
        ""
    };
    let used = format!(
        "{}, sectors of {} bytes",
        units::length(backing.bytes),
        backing.sector
    );
    let facts = [
        ("CPU", format!("{}{emulated}", machine.cpu)),
        ("Kernel", format!("Linux {}", machine.kernel)),
        ("Encrypted", phrases::backing(bench)),
        ("Used", used),
        ("Rounds", phrases::rounds(bench)),
        ("squall", machine.squall.clone()),
    ];
    html! {
        section {
            h2 id="machine" { "The machine" }
            dl.facts {
                @for (name, value) in facts { div { dt { (name) } dd { (value) } } }
            }
        }
    }
}
