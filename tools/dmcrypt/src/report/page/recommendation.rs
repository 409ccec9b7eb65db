//! The recommendation for this machine, with the lines to copy.

use maud::{Markup, html};

use super::emulated;
use crate::model::{Bench, Recommendation};
use crate::report::phrases;

/// The whole section.
pub fn section(bench: &Bench) -> Markup {
    html! {
        section {
            h2 id="recommendation" { "Recommendation" }
            @match &bench.recommendation {
                Some(recommendation) => {
                    (advice(recommendation))
                    (emulated(bench))
                    (lines(recommendation))
                }
                None => p { (phrases::NO_RECOMMENDATION) }
            }
        }
    }
}

fn advice(recommendation: &Recommendation) -> Markup {
    let Recommendation {
        spec, options, why, ..
    } = recommendation;
    html! {
        p.advice { strong { (spec) } ", " (phrases::options(options)) ". " (why) }
    }
}

fn lines(recommendation: &Recommendation) -> Markup {
    html! {
        @for (what, line) in phrases::to_copy(recommendation) {
            p.copy { (what) ":" }
            pre tabindex="0" { code { (line) } }
        }
        @if !recommendation.notes.is_empty() {
            ul.notes { @for note in &recommendation.notes { li { (note) } } }
        }
    }
}
