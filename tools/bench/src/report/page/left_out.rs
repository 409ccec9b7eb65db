//! Sources without figures, and why.

use maud::{Markup, html};

use crate::report::model::{Report, SourceReport, State};

/// Sources without figures, and why; nothing if all have them.
pub fn sections(report: &Report) -> Markup {
    let in_state = |state| {
        let sources = report.sources.iter();
        sources
            .filter(move |source| source.state == state)
            .collect()
    };
    html! {
        (list("disqualified", "Disqualified", "Their output cannot be random.", in_state(State::Disqualified)))
        (list("failed", "Failed", "They failed while they were measured.", in_state(State::Failed)))
        (list("missing", "Missing", "They are not on this machine.", in_state(State::Missing)))
    }
}

fn list(id: &str, heading: &str, note: &str, sources: Vec<&SourceReport>) -> Markup {
    html! {
        @if !sources.is_empty() {
            section {
                h2 id=(id) { (heading) }
                p.note { (note) }
                dl.reasons {
                    @for source in sources {
                        div {
                            dt { (source.title) }
                            dd { (source.reason.as_deref().unwrap_or("no reason was given")) }
                        }
                    }
                }
            }
        }
    }
}
