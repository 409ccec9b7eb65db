//! Errors, and what is listed at the end: the ranges that a drive refused, or that hold other bytes than were written, and
//! the commands of its own erase.

use maud::{Markup, html};

use super::facts::time;
use crate::record::{Drive, Exchange, Extent, Pass, Verification};
use crate::text;

/// The most ranges of a kind that are printed. The JSON file has all.
const MOST: usize = 200;

/// Ranges of a kind.
struct Ranges<'a> {
    title: String,
    listed: &'a [Extent],
    unlisted: u64,
}

/// All kinds of ranges that there are: those of the last pass, and those that verifications found.
fn kinds(drive: &Drive) -> Vec<Ranges<'_>> {
    let unwritten = drive.passes.last().map_or(&[][..], |pass| &pass.unwritten);
    let mut kinds = vec![Ranges {
        title: "Not overwritten".into(),
        listed: unwritten,
        unlisted: 0,
    }];
    let of_passes = (1..).zip(&drive.passes);
    let of_passes = of_passes.filter_map(|(number, pass): (u32, &Pass)| {
        Some((format!(" after pass {number}"), pass.verification.as_ref()?))
    });
    let last = drive
        .verification
        .iter()
        .map(|found| (String::new(), found));
    let all: Vec<(String, &Verification)> = of_passes.chain(last).collect();
    for (when, found) in all {
        kinds.push(Ranges {
            title: format!("Not readable{when}"),
            listed: &found.unreadable,
            unlisted: 0,
        });
        kinds.push(Ranges {
            title: format!("Not as written{when}"),
            listed: &found.differing,
            unlisted: found.differing_unlisted,
        });
    }
    kinds.retain(|kind| !kind.listed.is_empty());
    kinds
}

/// The section on errors: how many there are of each kind, or a sentence if there are none.
pub fn errors(drive: &Drive) -> Markup {
    let kinds = kinds(drive);
    html! {
        section {
            h2 { "Errors" }
            @if kinds.is_empty() { p { (clean(drive)) } }
            @for kind in &kinds {
                @let count = kind.listed.len() as u64 + kind.unlisted;
                p.counted {
                    (kind.title) ": " (text::grouped_digits(count))
                    @if count == 1 { " range" } @else { " ranges" } ", listed at the end."
                }
            }
        }
    }
}

/// The tables of ranges, which follow everything else.
pub fn ranges(drive: &Drive) -> Markup {
    let kinds = kinds(drive);
    html! {
        @if !kinds.is_empty() {
            section.annex {
                h2 { "Ranges with errors" }
                @for kind in &kinds { (table(kind)) }
            }
        }
    }
}

/// The sentence about a drive without errors.
fn clean(drive: &Drive) -> &'static str {
    match (drive.passes.is_empty(), drive.not_overwritten()) {
        (true, _) => "Nothing was written.",
        (false, 0) => "None. Every write succeeded, and everything read back matched.",
        _ => "None so far.",
    }
}

fn table(kind: &Ranges) -> Markup {
    let Ranges {
        title,
        listed,
        unlisted,
    } = kind;
    let shown = &listed[..listed.len().min(MOST)];
    let in_file = listed.len() - shown.len();
    let number = |number: u64| text::grouped_digits(number);
    let rows = html! {
        @for Extent { offset, length } in shown {
            tr { td { (number(*offset)) } td { (number(*length)) } }
        }
    };
    html! {
        h3 { (title) }
        (super::table("ranges", title, ["First byte", "Bytes"], &rows))
        @if in_file > 0 {
            p.note.below { (text::grouped_digits(in_file as u64)) " more ranges are in the JSON file." }
        }
        @if *unlisted > 0 {
            p.note.below {
                (text::grouped_digits(*unlisted)) " more ranges were counted and not recorded."
            }
        }
    }
}

/// What was sent to a drive that sanitizes itself, and what it answered; nothing if it did not.
pub fn exchanges(drive: &Drive) -> Markup {
    let sanitize = drive
        .purge
        .as_ref()
        .and_then(|purge| purge.sanitize.as_ref());
    let exchanges = sanitize.map_or(&[][..], |sanitize| &sanitize.exchanges);
    let rows = html! { @for exchange in exchanges { (line(exchange)) } };
    html! {
        @if !exchanges.is_empty() {
            section.annex {
                h2 { "Commands of the drive's own erase" }
                (super::table("exchanges", "Commands", ["Time", "Sent", "Answered"], &rows))
            }
        }
    }
}

fn line(exchange: &Exchange) -> Markup {
    html! {
        tr {
            th scope="row" { (time(exchange.at)) }
            td { (exchange.sent) }
            td { (exchange.answered) }
        }
    }
}
