//! What was sent to a drive that sanitizes itself, and what it answered.

use maud::{Markup, html};

use super::facts::time;
use crate::record::{Drive, Exchange};

/// A table, which follows everything else; nothing if the drive did not sanitize itself.
pub fn section(drive: &Drive) -> Markup {
    let sanitize = drive
        .purge
        .as_ref()
        .and_then(|purge| purge.sanitize.as_ref());
    let exchanges = sanitize.map_or(&[][..], |sanitize| &sanitize.exchanges);
    html! {
        @if !exchanges.is_empty() {
            section.annex {
                h2 { "Commands of the drive's own erase" }
                div.scroll tabindex="0" role="region" aria-label="Commands" {
                    table {
                        thead { tr {
                            @for title in ["Time", "Sent", "Answered"] { th scope="col" { (title) } }
                        } }
                        tbody {
                            @for exchange in exchanges { (line(exchange)) }
                        }
                    }
                }
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
