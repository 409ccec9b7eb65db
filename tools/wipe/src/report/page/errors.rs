//! Tables of the ranges that a drive refused, or that hold other bytes than were written.

use maud::{Markup, html};

use crate::record::{Drive, Extent};
use crate::report::share;

/// The most ranges of a kind that are printed. The JSON file has all.
const MOST: usize = 200;

/// The section on errors: a table for each kind, or a sentence if there are none.
pub fn sections(drive: &Drive) -> Markup {
    let pass = drive.passes.last();
    let unwritten = pass.map_or(&[][..], |pass| &pass.unwritten);
    let (unreadable, differing, unlisted) = match &drive.verification {
        Some(verification) => (
            &verification.unreadable[..],
            &verification.differing[..],
            verification.differing_unlisted,
        ),
        None => (&[][..], &[][..], 0),
    };
    let is_clean = unwritten.is_empty() && unreadable.is_empty() && differing.is_empty();
    html! {
        section {
            h2 { "Errors" }
            @if is_clean { p { (clean(drive)) } }
            (kind("Not overwritten", unwritten, 0))
            (kind("Not readable", unreadable, 0))
            (kind("Not as written", differing, unlisted))
        }
    }
}

/// The sentence about a drive without errors.
fn clean(drive: &Drive) -> &'static str {
    match (drive.passes.is_empty(), drive.not_overwritten()) {
        (true, _) => "Nothing was written, and so nothing was refused.",
        (false, 0) => "None: the drive refused no byte, and none that was read back differed.",
        _ => "None as far as it came: the drive refused no byte that was written.",
    }
}

fn kind(title: &str, extents: &[Extent], unlisted: u64) -> Markup {
    let shown = &extents[..extents.len().min(MOST)];
    let in_file = extents.len() - shown.len();
    html! {
        @if !extents.is_empty() {
            h3 { (title) }
            div.scroll.ranges tabindex="0" role="region" aria-label=(title) {
                table.figures {
                    thead { tr {
                        th scope="col" { "First byte" }
                        th scope="col" { "Bytes" }
                    } }
                    tbody {
                        @for Extent { offset, length } in shown {
                            tr { td { (share::grouped_digits(*offset)) } td { (share::grouped_digits(*length)) } }
                        }
                    }
                }
            }
            @if in_file > 0 {
                p.note.below { (share::grouped_digits(in_file as u64)) " more ranges are in the JSON file." }
            }
            @if unlisted > 0 {
                p.note.below {
                    (share::grouped_digits(unlisted)) " more ranges were counted and not recorded."
                }
            }
        }
    }
}
