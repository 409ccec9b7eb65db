//! A page about one drive that a person can print, sign and file: what was wiped, when and how, how
//! much of it was overwritten, what went wrong, and what overwriting cannot reach.
//!
//! All values from the record are escaped as text.

mod errors;
mod exchanges;
mod facts;
mod health;
pub mod job;
mod limits;
mod verdict;

use maud::{Markup, html};

use crate::record::{Drive, Job};

const STYLE: &str = include_str!("page/style.css");

/// The page about the drive of this number.
pub fn html(job: &Job, drive: usize) -> String {
    let drive = &job.drives[drive];
    let title = format!("{}: {}", verdict::word(drive), name(drive));
    let content = html! {
        header {
            p.kicker { (kicker(drive)) }
            h1 { (name(drive)) }
            (facts::list(&heading(job, drive)))
        }
        (verdict::section(job, drive))
        (facts::sections(job, drive))
        (health::section(drive))
        (errors::section(drive))
        (notes(drive))
        (limits::section(drive))
        (facts::tool(job))
        (signature(job, "This record describes the drive that is named above and was in my hands."))
        (footer(job))
        (errors::ranges(drive))
        (exchanges::section(drive))
    };
    squall_tools::page::page(&title, STYLE, &content)
}

fn kicker(drive: &Drive) -> &'static str {
    match drive.wipe {
        Some(_) => "Record of a verification",
        None => "Record of a wipe",
    }
}

/// What tells this page from others.
fn heading(job: &Job, drive: &Drive) -> Vec<facts::Fact> {
    let mut facts = vec![("Job", job.id.clone())];
    facts.extend(
        drive
            .wipe
            .iter()
            .map(|wipe| ("Wiped by job", wipe.job.clone())),
    );
    for (name, value) in [
        ("Customer", &job.customer),
        ("Asset", &drive.asset),
        ("Operator", &job.operator),
    ] {
        facts.extend(value.iter().map(|value| (name, value.clone())));
    }
    facts
}

fn footer(job: &Job) -> Markup {
    html! {
        footer.note {
            p {
                "Made by " (job.tool.name) " " (job.tool.version) ". The same is in the JSON file "
                "beside this page, with every number exact."
            }
        }
    }
}

/// The drive's model and serial number, or else its path.
fn name(drive: &Drive) -> String {
    let target = &drive.target;
    let parts: Vec<_> = [&target.model, &target.serial]
        .into_iter()
        .flatten()
        .collect();
    match parts.as_slice() {
        [] => target.given.display().to_string(),
        [model, serial] => format!("{model}, {serial}"),
        [part, ..] => (*part).clone(),
    }
}

fn notes(drive: &Drive) -> Markup {
    html! {
        @if !drive.notes.is_empty() {
            section {
                h2 { "Notes" }
                ul.notes {
                    @for note in &drive.notes {
                        li { (facts::time(note.at)) ": " (note.text) }
                    }
                }
            }
        }
    }
}

/// Lines to sign `statement` on, with the operator's name.
fn signature(job: &Job, statement: &str) -> Markup {
    html! {
        section.signature {
            h2 { "Signature" }
            p.note { (statement) }
            dl.lines {
                div { dt { "Name" } dd { @if let Some(name) = &job.operator { (name) } } }
                div { dt { "Date" } dd {} }
                div { dt { "Signature" } dd {} }
            }
        }
    }
}
