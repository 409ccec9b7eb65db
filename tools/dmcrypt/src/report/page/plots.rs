//! Plots of the ranking: one for each kind of transfer, reads beside writes.

use maud::{Markup, html};
use squall_tools::page::figures;
use squall_tools::page::svg::marker;
use squall_tools::units;

use super::chart::{self, Row};
use crate::model::{Bench, Workload};
use crate::report::phrases;

/// The most specifications in a plot; the others are folded away below it.
const ROWS: usize = 12;

/// All plots that have figures.
pub fn section(bench: &Bench) -> Markup {
    let kinds = kinds(bench);
    let drawn = kinds.iter().filter_map(|places| figure(bench, places));
    let note = "Rates as percent of the device without encryption in the same round: medians, and \
                lines from quartile to quartile where these are apart.";
    figures::section("Beside no encryption", note, &drawn.collect::<Vec<_>>())
}

/// Groups the indices of workloads that differ only in their direction.
fn kinds(bench: &Bench) -> Vec<Vec<usize>> {
    let mut kinds: Vec<Vec<usize>> = Vec::new();
    for (place, workload) in bench.workloads.iter().enumerate() {
        let is_same = |places: &&mut Vec<usize>| {
            let other = &bench.workloads[places[0]];
            kind(other) == kind(workload) && places.len() < chart::BARS
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
    let drawing = |rows: &[Row]| {
        let listed: Vec<_> = rows.iter().map(|row| row.name.as_str()).collect();
        figures::drawing(&heading, &listed, chart::svg(rows))
    };
    let mut drawings: Vec<Markup> = rows.chunks(ROWS).map(drawing).collect();
    if let Some(first) = drawings.first_mut() {
        *first = html! { (names(bench, places)) (first) };
    }
    figures::figure(&heading, &drawings, "The other specifications")
}

/// A plot's heading, such as `1 MiB, sequential, 8 at once`.
fn heading(workload: &Workload) -> String {
    let depth = match workload.depth {
        1 => "one at a time".into(),
        depth => format!("{depth} at once"),
    };
    let length = units::length(workload.block as u64);
    format!("{length}, {}, {depth}", phrases::order(workload.is_random))
}

/// The legend: the markers with their names.
fn names(bench: &Bench, places: &[usize]) -> Markup {
    html! {
        ul.names {
            @for (colour, place) in places.iter().enumerate() {
                @let direction = phrases::direction(bench.workloads[*place].direction);
                (figures::name(colour, marker(colour), &html! { (direction) }))
            }
        }
    }
}
