//! What was sent to a drive that sanitizes itself, and what it answered.

use maud::{Markup, html};

use super::facts::time;
use crate::record::{Exchange, Purge};

/// A table; nothing if the drive erased itself in another way.
pub fn table(purge: &Purge) -> Markup {
    let exchanges = purge.sanitize.as_ref();
    let exchanges = exchanges.map_or(&[][..], |sanitize| &sanitize.exchanges);
    html! {
        @if !exchanges.is_empty() {
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

fn line(exchange: &Exchange) -> Markup {
    html! {
        tr {
            th scope="row" { (time(exchange.at)) }
            td { (exchange.sent) }
            td { (exchange.answered) }
        }
    }
}
