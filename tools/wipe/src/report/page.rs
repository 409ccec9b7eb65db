//! A page about one drive that a person can print, sign and file: what was wiped, when and how, how
//! much of it was overwritten, what went wrong, and what overwriting cannot reach.
//!
//! All values from the record are escaped as text.

mod annexes;
mod facts;
pub mod job;
mod verdict;

use maud::{Markup, html};
use squall_drives::{Health, Kind};

use crate::advice::Advice;
use crate::record::{Drive, Job};
use crate::text;

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
        (health(drive))
        (annexes::errors(drive))
        (notes(drive))
        (limits(drive))
        (facts::tool(job))
        (signature(job, "This record describes the drive that is named above and was in my hands."))
        (footer(job))
        (annexes::ranges(drive))
        (annexes::exchanges(drive))
    };
    squall_tools::page::page(&title, STYLE, &content)
}

/// A table in a frame of this class, in which it scrolls on a screen that is too narrow for it.
fn table<'t>(
    class: &str,
    label: &str,
    titles: impl IntoIterator<Item = &'t str>,
    rows: &Markup,
) -> Markup {
    html! {
        div class={ "scroll " (class) } tabindex="0" role="region" aria-label=(label) {
            table {
                thead { tr { @for title in titles { th scope="col" { (title) } } } }
                tbody { (rows) }
            }
        }
    }
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

/// The section on the drive's health; nothing if the drive says nothing.
fn health(drive: &Drive) -> Markup {
    let (before, after) = (drive.health.before.as_ref(), drive.health.after.as_ref());
    let end = match drive.wipe {
        Some(_) => "Now",
        None => "After",
    };
    let moments: Vec<_> = [("Before", before), (end, after)]
        .into_iter()
        .filter_map(|(when, health)| Some((when, figures(health?))))
        .collect();
    // A figure that the drive gave once has a column.
    let is_given = |index: &usize| {
        moments
            .iter()
            .any(|(_, figures)| figures[*index].1.is_some())
    };
    let columns: Vec<usize> = (0..FIGURES).filter(is_given).collect();
    let Some((_, names)) = moments.first() else {
        return Markup::default();
    };
    let titles = columns.iter().map(|column| names[*column].0);
    let rows = html! {
        @for (when, figures) in &moments {
            tr {
                th scope="row" { (when) }
                @for column in &columns { td { (figures[*column].1.as_deref().unwrap_or("–")) } }
            }
        }
    };
    html! {
        section {
            h2 { "Health, as the drive reports it" }
            (table("health", "Health", ["SMART"].into_iter().chain(titles), &rows))
        }
    }
}

/// The number of figures.
const FIGURES: usize = 11;

/// All figures of a drive's health, with their names.
fn figures(health: &Health) -> [(&'static str, Option<String>); FIGURES] {
    let count = |count: Option<u64>| count.map(text::grouped_digits);
    let percent = |share: Option<u8>| share.map(|share| format!("{share}\u{a0}%"));
    let state = |is_healthy| match (is_healthy, health.critical_warning) {
        (true, _) => "healthy".to_owned(),
        (false, Some(warning)) => format!("warning {warning:#04x}"),
        (false, None) => "failing".to_owned(),
    };
    let written = health.bytes_written.map(squall_tools::units::volume);
    [
        ("State", health.healthy.map(state)),
        (
            "Temperature",
            health.celsius.map(|celsius| format!("{celsius}\u{a0}°C")),
        ),
        (
            "Powered on",
            count(health.power_on_hours).map(|hours| format!("{hours}\u{a0}h")),
        ),
        ("Power cycles", count(health.power_cycles)),
        ("Reallocated", count(health.reallocated_sectors)),
        ("Pending", count(health.pending_sectors)),
        ("Uncorrectable", count(health.uncorrectable_sectors)),
        ("Life used", percent(health.percentage_used)),
        ("Spare left", percent(health.available_spare)),
        ("Media errors", count(health.media_errors)),
        ("Written", written.map(|bytes| bytes.replace(' ', "\u{a0}"))),
    ]
}

/// The section on what overwriting cannot reach.
fn limits(drive: &Drive) -> Markup {
    let target = &drive.target;
    html! {
        section {
            h2 { "What overwriting cannot reach" }
            @match (target.kind, target.flash) {
                (Kind::Disk | Kind::Partition, Some(false)) => (magnetic()),
                (Kind::Disk | Kind::Partition, None) => { (magnetic()) (unknown()) }
                (Kind::Disk | Kind::Partition, Some(true)) => {},
                (Kind::File, _) => (file()),
                (Kind::Loop | Kind::Mapped, _) => (layered()),
            }
            @if let Some(advice) = Advice::for_drive(drive) { (flash(&advice)) }
            @if target.kind == Kind::Partition {
                p { "Only this partition was overwritten, and nothing beside it on the drive." }
            }
        }
    }
}

fn magnetic() -> Markup {
    html! {
        p {
            "Every sector that the drive shows was addressed. Out of reach are sectors that it had "
            "replaced by spare ones before, of which a healthy disk has few or none "
            "(" code { "smartctl -A" } " counts them), and areas that are hidden from the host "
            "(" code { "hdparm -N" } " shows whether there are any)."
        }
    }
}

fn unknown() -> Markup {
    html! {
        p {
            "The kernel does not report whether this is flash. If it is, its spare cells are out of "
            "reach too, and only the drive itself can erase them."
        }
    }
}

fn file() -> Markup {
    html! {
        p {
            "The file's bytes were overwritten where the filesystem keeps them. A filesystem that "
            "writes elsewhere (btrfs, ZFS, bcachefs, some of XFS), a journal of data, a snapshot or "
            "a backup may hold older copies; so may the spare cells of flash."
        }
    }
}

fn layered() -> Markup {
    html! {
        p {
            "This device lies on others, which may move data between them, keep older copies or "
            "have spare cells: what holds for them holds for it."
        }
    }
}

fn flash(advice: &Advice) -> Markup {
    html! {
        div.warning {
            p { (advice.text) }
            @if !advice.commands.is_empty() {
                dl.commands {
                    @for (command, what) in &advice.commands {
                        div { dt { code { (command) } } dd { (what) } }
                    }
                }
                p {
                    "After these, the drive may no longer hold what this page says was written."
                }
            }
        }
    }
}
