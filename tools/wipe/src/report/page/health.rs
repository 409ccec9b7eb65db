//! What the drive said of its health, before and after.

use maud::{Markup, html};
use squall_drives::Health;

use crate::record::Drive;
use crate::report::share;

/// The section on the drive's health; nothing if the drive says nothing.
pub fn section(drive: &Drive) -> Markup {
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
    html! {
        @if let Some((_, names)) = moments.first() {
            section {
                h2 { "Health, as the drive reports it" }
                div.scroll tabindex="0" role="region" aria-label="Health" {
                    table.health {
                        thead { tr {
                            th scope="col" { "SMART" }
                            @for column in &columns { th scope="col" { (names[*column].0) } }
                        } }
                        tbody {
                            @for (when, figures) in &moments {
                                tr {
                                    th scope="row" { (when) }
                                    @for column in &columns {
                                        td { (figures[*column].1.as_deref().unwrap_or("–")) }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The number of figures.
const FIGURES: usize = 11;

/// All figures of a drive's health, with their names.
fn figures(health: &Health) -> [(&'static str, Option<String>); FIGURES] {
    let count = |count: Option<u64>| count.map(share::grouped_digits);
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
