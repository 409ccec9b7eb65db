//! Plots of the ranking: one for each kind of transfer, reads beside writes.

use maud::{Markup, PreEscaped, html};
use squall_tools::units;

use super::chart::{self, Row};
use crate::model::{Bench, Workload};
use crate::report::words;

/// The most specifications in a plot; the others are folded away below it.
const ROWS: usize = 12;

/// All plots that have figures.
pub fn section(bench: &Bench) -> Markup {
    let drawn: Vec<Markup> = kinds(bench)
        .iter()
        .filter_map(|places| figure(bench, places))
        .collect();
    html! {
        @if !drawn.is_empty() {
            section {
                h2 id="plots" { "Beside no encryption" }
                p.note {
                    "Rates as percent of the device without encryption in the same round: medians, "
                    "and lines from quartile to quartile where these are apart."
                }
                div.plots { @for figure in drawn { (figure) } }
            }
        }
    }
}

/// Groups the indices of workloads that differ only in their direction.
fn kinds(bench: &Bench) -> Vec<Vec<usize>> {
    let mut kinds: Vec<Vec<usize>> = Vec::new();
    for (place, workload) in bench.workloads.iter().enumerate() {
        let is_same = |places: &&mut Vec<usize>| {
            let other = &bench.workloads[places[0]];
            kind(other) == kind(workload) && places.len() < chart::CURVES
        };
        match kinds.iter_mut().find(is_same) {
            Some(places) => places.push(place),
            None => kinds.push(vec![place]),
        }
    }
    kinds
}

fn kind(workload: &Workload) -> (usize, usize, bool) {
    (workload.block, workload.depth, workload.is_random)
}

fn figure(bench: &Bench, places: &[usize]) -> Option<Markup> {
    let heading = heading(&bench.workloads[places[0]]);
    let rows: Vec<Row> = bench
        .ranking
        .iter()
        .map(|measured| Row {
            name: measured.spec.to_string(),
            ratios: places
                .iter()
                .map(|place| measured.figures.get(*place).map(|figure| figure.ratio))
                .collect(),
        })
        .collect();
    let mut drawings = rows.chunks(ROWS).map(|rows| drawing(&heading, rows));
    let first = drawings.next()?;
    let rest: Vec<_> = drawings.collect();
    Some(html! {
        figure {
            figcaption { h3 { (heading) } }
            (names(bench, places))
            (first)
            @if !rest.is_empty() {
                details {
                    summary { "The other specifications" }
                    @for drawing in rest { (drawing) }
                }
            }
        }
    })
}

/// A plot's heading, such as `1 MiB, sequential, 8 at once`.
fn heading(workload: &Workload) -> String {
    let depth = match workload.depth {
        1 => "one at a time".into(),
        depth => format!("{depth} at once"),
    };
    let length = units::length(workload.block as u64);
    format!("{length}, {}, {depth}", words::order(workload.is_random))
}

fn drawing(heading: &str, rows: &[Row]) -> Markup {
    let listed: Vec<_> = rows.iter().map(|row| row.name.as_str()).collect();
    let label = format!("{heading}, a plot of {}", listed.join(", "));
    html! {
        div.drawing role="img" aria-label=(label) { (PreEscaped(chart::svg(rows))) }
    }
}

/// The legend: the markers with their names.
fn names(bench: &Bench, places: &[usize]) -> Markup {
    html! {
        ul.names {
            @for (colour, place) in places.iter().enumerate() {
                li {
                    span.marker.(format!("c{colour}")) aria-hidden="true" { (chart::marker(colour)) }
                    span { (words::direction(bench.workloads[*place].direction)) }
                }
            }
        }
    }
}
