//! Tables of figures: a row for each specification, a column for each workload.

use maud::{Markup, html};
use squall_tools::units;

use crate::model::{Bench, Figure, Measured};
use crate::report::phrases;
use crate::verdict::Verdict;

/// The section with the ranking and, above it, the device without encryption.
pub fn ranking(bench: &Bench) -> Markup {
    let stand_for: Vec<_> = bench
        .ranking
        .iter()
        .filter_map(phrases::stands_for)
        .collect();
    html! {
        section {
            h2 id="ranking" { "Ranking" }
            p.note {
                "With sectors of 512 bytes and work queues. Medians of the rates; below each stands "
                "its ratio to the device without encryption in the same round, with quartiles. The "
                "score is the geometric mean of these ratios. Then come the CPU time of the whole "
                "machine for each GB, and the latency of a transfer, p50 and p99."
            }
            (table(bench, "ranking", &bench.ranking, &|_| None))
            @if !stand_for.is_empty() {
                ul.note.below { @for sentence in &stand_for { li { (sentence) "." } } }
            }
        }
    }
}

/// The section with the best few under other options.
pub fn variants(bench: &Bench) -> Markup {
    html! {
        @if !bench.variants.is_empty() {
            section {
                h2 id="variants" { "The best with other options" }
                p.note {
                    "Larger sectors of encryption need fewer IVs. Without work queues the CPU that "
                    "reads or writes encrypts, too; whether that is faster depends on the machine. "
                    (phrases::PRIORITY)
                }
                (table(bench, "variants", &bench.variants, &|it| Some(phrases::options(&it.options))))
            }
        }
    }
}

/// The section with the authenticated ones.
pub fn authenticated(bench: &Bench) -> Markup {
    let journal = |it: &Measured| Some(phrases::journal(&it.options).to_owned());
    html! {
        @if !bench.authenticated.is_empty() {
            section {
                h2 id="authenticated" { "Authenticated, over dm-integrity" }
                p.note { "With sectors of 4096 bytes and work queues." }
                (table(bench, "authenticated", &bench.authenticated, &journal))
                ul.note.below {
                    @for note in phrases::AUTHENTICATED { li { (note) } }
                    @for reason in phrases::reasons(&bench.authenticated) { li { (reason) } }
                }
            }
        }
    }
}

/// What stands below the name of a specification.
type Below<'a> = &'a dyn Fn(&Measured) -> Option<String>;

/// One table; the element with the id `heading` labels it.
fn table(bench: &Bench, heading: &str, measured: &[Measured], below: Below) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-labelledby=(heading) {
            table.figures aria-labelledby=(heading) {
                thead {
                    tr {
                        th scope="col" { "Specification" }
                        th scope="col" { "Key" }
                        th scope="col" { "Score" }
                        @for workload in &bench.workloads { th scope="col" { (workload.title) } }
                    }
                }
                tbody {
                    tr.raw {
                        th scope="row" { "No encryption" }
                        td {}
                        td {}
                        @for figure in &bench.raw {
                            td { (units::rate(figure.rate.median)) (costs(figure)) }
                        }
                    }
                    @for measured in measured { (row(measured, below)) }
                }
            }
        }
    }
}

fn row(measured: &Measured, below: Below) -> Markup {
    let Measured {
        spec,
        verdict,
        score,
        ..
    } = measured;
    html! {
        tr {
            th scope="row" {
                (spec.name())
                @if let Some(integrity) = spec.integrity { " " (integrity) }
                @if let Some(below) = below(measured) { small { (below) } }
                @if *verdict != Verdict::Secure { small.doubt { (phrases::verdict(*verdict)) } }
            }
            td { (spec.key_bits) }
            td { (units::number(score * 100.0)) " %" }
            @for figure in &measured.figures { (cell(figure)) }
        }
    }
}

fn cell(figure: &Figure) -> Markup {
    let [low, median, high] =
        [figure.ratio.low, figure.ratio.median, figure.ratio.high].map(phrases::percent);
    html! {
        td {
            (units::rate(figure.rate.median))
            small { (median) " % (" (low) "–" (high) ")" }
            (costs(figure))
        }
    }
}

/// CPU time and latency.
fn costs(figure: &Figure) -> Markup {
    let [p50, p99] = [figure.latency.p50_ns, figure.latency.p99_ns].map(units::time);
    html! {
        @if figure.cpu_seconds_per_gb.is_some() { small { (phrases::cpu(figure)) " CPU s/GB" } }
        small { (p50) ", " (p99) }
    }
}
