//! A page about one drive that a person can print, sign and file: what was wiped, when and how, how
//! much of it was overwritten, what went wrong, and what overwriting cannot reach.
//!
//! All values from the record are escaped as text.

mod errors;
mod exchanges;
mod facts;
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
            p.kicker { "Record of a wipe" }
            h1 { (name(drive)) }
            p.note { "Job " (job.id) " on " (job.tool.host) }
        }
        (verdict::section(job, drive))
        (facts::sections(job, drive))
        (errors::sections(drive))
        (notes(drive))
        (limits::section(drive))
        (signature())
        footer.note {
            p {
                "Made by " (job.tool.name) " " (job.tool.version) ". The same is in the JSON file "
                "beside this page, with every number exact."
            }
        }
    };
    squall_tools::page::page(&title, STYLE, &content)
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

/// Lines to sign on.
fn signature() -> Markup {
    html! {
        section.signature {
            h2 { "Signature" }
            p.note { "This record describes the drive that is named above and was in my hands." }
            dl.lines {
                @for what in ["Name", "Date", "Signature"] {
                    div { dt { (what) } dd {} }
                }
            }
        }
    }
}
